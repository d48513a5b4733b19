# SPDX-License-Identifier: BSD-3-Clause
"""The command line of contrib/bench."""

import argparse
import importlib
import sys

from nezha_lab.checkout import DEFAULT_BUILD
from nezha_lab.leaving import EXIT_UNAVAILABLE, exit_status, leave_on_signals

from . import choices, summary
from .arguments import more_than_0, not_negative, numbers, positive, seconds
from .cases import PRESETS
from .collectives import ALLREDUCE, COLLECTIVES
from .competitors import NEZHA, ON_A_LAB, USUAL, USUAL_BY_NODE
from .errors import BenchError
from .files import picture, replaceable
from .sizes import QUICK_SIZES

_ABOUT = f"""\
Compares Nezha on an emulated cluster with Open MPI over one rail (a job of its own), Open MPI over all rails, Gloo
(one context and one thread per rail, shares set by hand, at each size the fastest of its algorithms) and the computed
limit; where nodes have several ranks, with Open MPI's han, xhc and acoll and with MPICH in place of Gloo. Each round launches every
competitor once, in changing order, and the subject twice: how much the subject differs from itself is the noise floor,
and differences below it are called not resolvable, as is each whose interval contains 1. Every element of every result is checked.

  bench                                 4 nodes, 1 + 1 Gbit/s, 4 bytes to 64 MiB, 15 rounds: half an hour
  bench --quick --picture bench.png     fewer sizes, 5 rounds
  bench --cases 1+0.5,slow-node --sizes 1M,16M --json bench.json
  bench --cases 4x4,node-4 --sizes 8:16K                      several ranks on a node
  bench --ranks 1,2,4,5 --sizes 1M                            other numbers of them
  bench --nodes 2 --rail 1gbit --rail 200mbit --nezha-mca coll_nezha_share eth0:5,eth1:1
  bench --collective reduce_scatter --sizes 1M:16M          another collective, beside Open MPI's
  bench --unshaped --cores 'eth0=0;eth1=1' --sizes 256K:64M    what a thread per rail is worth, and where
  bench --learning --sizes 4:16M                              what learning costs in the first 1000 calls, and gains
  bench --overlap sleeps --sizes 64K,1M,4M                    what MPI_Iallreduce hides, and 16 of them together
  bench --against ../before/build/default --sizes 4K,16M      two builds of Nezha, among the others
  bench --program 'pw.x -in si.in' --rounds 5                 a program as it is: its time, and that in MPI_Allreduce
  bench --program '/usr/bin/python3 contrib/programs/training.py --seconds 75' --from 60
  bench --osu /usr/libexec/osu-micro-benchmarks/mpi/collective/osu_allreduce

The cases: {', '.join(PRESETS)}.

Times are osu_allreduce's: each rank's average over the calls, averaged over the ranks, a barrier between calls.
Exit status: 1 when something failed; 2 for wrong arguments; 3 when a column turned out not to be about Nezha; 77 when this machine cannot run a lab."""


def build_parser():
    parser = argparse.ArgumentParser(prog="bench", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    where = parser.add_argument_group("cluster")
    where.add_argument("--cases", metavar="LIST", help="named clusters, or all; default 1+1, or what the next ones say")
    where.add_argument("--nodes", type=positive, metavar="N", help="default 4")
    where.add_argument("--ranks", type=numbers, metavar="N,...", help="on each node, or a list of each one's; default 1")
    where.add_argument("--rail", action="append", dest="rails", metavar="RATE", help="once per rail; default 1gbit twice")
    where.add_argument("--node-rate", action="append", default=[], dest="node_rates", metavar="NODE:RAIL:RATE")
    where.add_argument("--unshaped", action="store_true", help="rails without a rate: what the processor allows")
    add("--sizes", metavar="LIST", help="4,1K,64M or 4:64M, the powers of two between (the default)")
    add("--rounds", type=positive, metavar="N", help="default 15")
    add("--time", type=more_than_0, metavar="SECONDS", help="per size and launch; default 0.25")
    add("--iterations", type=positive, metavar="N", help="calls per size and launch, instead of a time")
    add("--rest", type=more_than_0, metavar="MILLISECONDS", help="between the end of a call and the next one at least: alike for all competitors if "
        "it is more than what each takes for its barrier. In it rails that let bursts through recover")
    add("--warmup", type=not_negative, metavar="N", help="calls before them; default: a fifth of the time, 20 at least")
    add("--patience", type=seconds, default=0.0, metavar="SECONDS", help="for so long after the last round, sizes of which a "
        "virtual machine's host left too few measurements calm are measured again; default 0")
    add("--quick", action="store_true", help=f"5 rounds, 0.1 s, sizes {QUICK_SIZES}")
    add("--in-place", action="store_true", help="MPI_IN_PLACE")
    add("--subject", choices=ON_A_LAB, default=NEZHA, help="who is compared with the others; default nezha")
    add("--competitors", metavar="LIST", help=f"of {', '.join(ON_A_LAB)}; default {', '.join(USUAL)}, "
        f"with several ranks on a node {', '.join(USUAL_BY_NODE)}, as far as the build and Open MPI have them")
    add("--collective", choices=COLLECTIVES, default=ALLREDUCE, help="what is measured instead, by rank 0 as root, named in "
        "coll_nezha_collectives so that rails carry small vectors too. A size is that of the whole vector")
    add("--statistic", choices=(summary.AVERAGE, summary.MEDIAN, summary.SLOWEST),
        help="of a launch's calls; default average, as OSU has it, and that of the slowest rank for bcast and reduce")
    add("--memory", action="store_true", help="also what the processes hold at the largest size, in launches of their own")
    add("--instructions", action="store_true", help="also what a call of Nezha costs in instructions at 4 KiB, and a byte at 4 "
        "MiB, as valgrind counts them, in launches of their own")
    add("--learning", action="store_true", help="instead of all that: Nezha alone, as it learns, with what it has learned, and "
        "without; default 5 rounds")
    add("--overlap", choices=(choices.COMPUTES, choices.SLEEPS), help="instead of all that: what allreduces that do not block are worth, beside "
        "a computation that computes, or that sleeps, as where each rank has a core to spare; default 5 rounds")
    add("--osu", metavar="PATH", help="this osu_allreduce instead of our program; its results are not checked")
    add("--program", metavar="COMMAND", help="instead of sizes: this MPI program, with the case's ranks on each node, from where "
        "bench is started, under each competitor but gloo; default 3 rounds. Its standard output's lines 'iteration N' are counted")
    add("words", nargs="*", default=[], metavar="WORD", help="after --: further words of COMMAND, as they are")
    add("--from", type=seconds, dest="since", metavar="SECONDS", help="with --program: its calls and iterations count from then "
        "on, in seconds after its start")
    add("--limit", type=more_than_0, metavar="SECONDS", help="with --program: a run that takes longer is ended; default 3600")
    add("--cores", metavar="LIST", help="compares Nezha without threads with Nezha with a thread per rail on these cores "
        "(RAIL=CORES;..., as coll_nezha_rail_cores has it; empty: those near the interface)")
    add("--nezha-mca", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"), help="a parameter for Nezha's job")
    add("--build", default=DEFAULT_BUILD, metavar="DIR", help="made by contrib/build; default build/default")
    add("--against", metavar="DIR", help="another build of Nezha, as one more competitor, nezha-other: a directory made by "
        "contrib/build, or the one that its mca_coll_nezha.so lies in")
    add("--component-dir", metavar="DIR", help="where mca_coll_nezha.so lies; default DIR/component")
    add("--json", type=replaceable, metavar="FILE", help="everything, with the raw values of every round")
    add("--picture", type=picture, metavar="FILE", help="a .png, .svg or .pdf; with several cases their names are added")
    return parser


def main(arguments=None):
    parser = build_parser()
    options = parser.parse_args(arguments)
    leave_on_signals()
    try:
        from . import compare, program_compare  # not at the top: --help works on a machine that lacks the packages
        if options.picture:
            importlib.import_module(".picture", __package__)
    except ModuleNotFoundError as error:
        print(f"bench: Python's module {error.name} is missing: contrib/install-packages demo", file=sys.stderr)
        return EXIT_UNAVAILABLE
    return exit_status("bench", lambda: _run(parser, options, program_compare if options.program is not None else compare),
                       BenchError)


def _run(parser, options, how):
    choices.check_together(options, parser.get_default)
    return how.run(options)
