# SPDX-License-Identifier: BSD-3-Clause
"""The command line of contrib/bench."""

import argparse
import os
import signal
import sys

from nezha_lab import Lab, LabError, LabUnavailable

from . import document, memory, progress, rounds, summary, table
from .cases import Case, PRESETS, presets
from .competitors import ALL, LABELS, NEZHA, ONE, USUAL, WITH_COMPONENT, Effort, Launcher, Programs
from .errors import BenchError
from .sizes import parse_sizes

EXIT_UNAVAILABLE = 77
EXIT_INVALID = 3

_TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_QUICK_SIZES = "4,1K,16K,64K,256K,1M,4M,16M"

_ABOUT = f"""\
Compares Nezha on an emulated cluster with Open MPI over one rail (a job of its own), Open MPI over all rails, Gloo
(one context and one thread per rail, shares set by hand, at each size the fastest of its algorithms) and the computed
limit. Each round launches every competitor once, in changing order, and the subject twice: how much the subject
differs from itself is the noise floor, and differences below it are called not resolvable. Every element of every
result is checked.

  bench                                 4 nodes, 1 + 1 Gbit/s, 4 bytes to 64 MiB, 15 rounds: half an hour
  bench --quick --picture bench.png     fewer sizes, 5 rounds
  bench --cases 1+0.5,slow-node --sizes 1M,16M --json bench.json
  bench --nodes 2 --rail 1gbit --rail 200mbit --nezha-mca coll_nezha_share eth0:5,eth1:1
  bench --osu /usr/libexec/osu-micro-benchmarks/mpi/collective/osu_allreduce

The cases: {', '.join(PRESETS)}.

Times are osu_allreduce's: each rank's average over the calls, averaged over the ranks, a barrier between calls.
Exit status: 3 when a column turned out not to be about Nezha; 77 when this machine cannot run a lab."""


def build_parser():
    parser = argparse.ArgumentParser(prog="bench", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    where = parser.add_argument_group("cluster")
    where.add_argument("--cases", metavar="LIST", help="named clusters, or all; default 1+1, or what the next three say")
    where.add_argument("--nodes", type=int, metavar="N", help="default 4")
    where.add_argument("--rail", action="append", dest="rails", metavar="RATE", help="once per rail; default 1gbit twice")
    where.add_argument("--node-rate", action="append", default=[], dest="node_rates", metavar="NODE:RAIL:RATE")
    where.add_argument("--unshaped", action="store_true", help="rails without a rate: what the processor allows")
    add("--sizes", metavar="LIST", help="4,1K,64M or 4:64M, the powers of two between (the default)")
    add("--rounds", type=_positive, metavar="N", help="default 15")
    add("--time", type=float, metavar="SECONDS", help="per size and launch; default 0.25")
    add("--iterations", type=_positive, metavar="N", help="calls per size and launch, instead of a time")
    add("--warmup", type=int, metavar="N", help="calls before them; default: a fifth of the time")
    add("--quick", action="store_true", help=f"5 rounds, 0.1 s, sizes {_QUICK_SIZES}")
    add("--in-place", action="store_true", help="MPI_IN_PLACE")
    add("--subject", choices=list(LABELS), default=NEZHA, help="who is compared with the others; default nezha")
    add("--competitors", metavar="LIST", help=f"of {', '.join(LABELS)}; default {', '.join(USUAL)}, as far as the build has them")
    add("--statistic", choices=(summary.AVERAGE, summary.MEDIAN), default=summary.AVERAGE,
        help="of a launch's calls; default average, as OSU has it")
    add("--memory", action="store_true", help="also what the processes hold at the largest size, in launches of their own")
    add("--osu", metavar="PATH", help="this osu_allreduce instead of our program; its results are not checked")
    add("--nezha-mca", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"), help="a parameter for Nezha's job")
    add("--build", default=os.path.join(_TOP, "build", "default"), metavar="DIR", help="made by contrib/build; default build/default")
    add("--component-dir", metavar="DIR", help="where mca_coll_nezha.so lies; default DIR/component")
    add("--json", metavar="FILE", help="everything, with the raw values of every round")
    add("--picture", metavar="FILE", help="a .png or .svg; with several cases their names are added")
    return parser


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}': 1 or more is allowed")
    return number


def _cases(options):
    shape = options.nodes or options.rails or options.node_rates or options.unshaped
    if options.cases:
        if shape:
            raise BenchError("--cases names whole clusters: --nodes, --rail, --node-rate and --unshaped are not allowed beside it")
        return presets(options.cases)
    if not shape:
        return [PRESETS["1+1"]]
    rails = tuple(options.rails or ("1gbit", "1gbit"))
    rails = ("none",) * len(rails) if options.unshaped else rails
    return [Case("own", options.nodes or 4, rails, tuple(options.node_rates))]


def _effort(options):
    sizes = parse_sizes(options.sizes or (_QUICK_SIZES if options.quick else "4:64M"))
    seconds = options.time or (0.1 if options.quick else 0.25)
    return Effort(tuple(sizes), seconds, options.iterations, options.warmup, options.in_place)


def _wanted(options, case):
    """The competitors, subject first. With one rail, one and all are the same job."""
    names = options.competitors.split(",") if options.competitors else list(USUAL)
    for name in names:
        if name not in LABELS:
            raise BenchError(f"competitor '{name}': {', '.join(LABELS)} are allowed")
    if options.subject not in WITH_COMPONENT and not options.competitors:
        names.remove(NEZHA)
    if len(case.rails) == 1 and ONE in names and ALL in names:
        names.remove(ALL if options.subject != ALL else ONE)
    return [options.subject] + [name for name in names if name != options.subject]


def _programs(options):
    programs = Programs.of_build(os.path.abspath(options.build), options.osu)
    if options.component_dir:
        programs = Programs(programs.mpi, programs.gloo, os.path.abspath(options.component_dir), programs.osu)
    return programs


def _picture_path(options, case, several):
    root, suffix = os.path.splitext(options.picture)
    return f"{root}-{case.name}{suffix}" if several else options.picture


def compare(options, case, programs, effort):
    """(Measured, Launcher) of one case."""
    wanted = _wanted(options, case)
    for name, reason in programs.check(wanted):
        print(f"bench: {LABELS[name]} is left out: {reason}", file=sys.stderr)
        wanted.remove(name)
    count = options.rounds or (5 if options.quick else 15)
    launcher = Launcher(case, programs, effort, tuple(map(tuple, options.nezha_mca)))
    launches = count * (len(wanted) + 1)
    with (Lab(case.nodes, list(case.rails), node_rates=list(case.node_rates)) as lab,
          progress.make(case.name, options.subject, launches, len(effort.sizes)) as seen):
        measured = rounds.measure(lab, launcher, options.subject, wanted, count, seen)
        if options.memory and not measured.interrupted:
            seconds = rounds.deadline(effort, case.nodes)
            measured.memory = memory.measure(lab, launcher, wanted, seconds, seen)
    return measured, launcher


def run(options):
    cases, effort, programs = _cases(options), _effort(options), _programs(options)
    if options.osu and options.memory:
        raise BenchError("--memory asks our own program, --osu replaces it: only one of them is allowed")
    whole, invalid = document.start(), False
    for case in cases:
        measured, launcher = compare(options, case, programs, effort)
        result = summary.summarise(measured, options.statistic)
        table.print_summary(result)
        document.add_case(whole, measured, result, launcher)
        if options.json:
            document.write(whole, options.json)
        if options.picture:
            from . import picture  # matplotlib takes a second to load
            picture.draw(result, _picture_path(options, case, len(cases) > 1))
        invalid = invalid or bool(result["invalid"])
        if measured.interrupted:
            return 128 + signal.SIGINT
    return EXIT_INVALID if invalid else 0


def _leave(number, _frame):
    raise SystemExit(128 + number)


def main(arguments=None):
    options = build_parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        return run(options)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except LabUnavailable as error:
        print(f"bench: {error}", file=sys.stderr)
        return EXIT_UNAVAILABLE
    except (BenchError, LabError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
