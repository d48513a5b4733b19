# SPDX-License-Identifier: BSD-3-Clause
"""contrib/figures training."""

import argparse
import dataclasses
import os
import sys
import time

from nezha_bench import document, files
from nezha_bench.arguments import listed, more_than_0, positive, seconds
from nezha_bench.cases import PRESETS
from nezha_bench.errors import UNWRITTEN, BenchError
from nezha_lab.checkout import DEFAULT_BUILD, TOP
from nezha_lab.errors import LabError, LabUnavailable
from nezha_lab.leaving import exit_status, leave_on_signals

from . import debian13, jobs, rounds, table

_PROGRAM = os.path.join(TOP, "contrib", "programs", "torch_training.py")
_CASES = ("1+1", "1+0.5")

_ABOUT = """\
Trains AlexNet or VGG-11 by PyTorch on 4 emulated nodes, one rank each, and prints iterations per second with Nezha, with Open MPI over
one rail and over all, and with PyTorch's own Gloo over one rail and over all, after Fig. 8 of Nezha's paper. The parameters, and the
gradients that DistributedDataParallel adds up, are those of the real networks. Images are small and few, because four nodes share this
machine's cores: the figures are about communication, not about how fast anybody learns.

Nezha first trains for --settle seconds and learns. Then in each round every competitor trains once, in changing order, and Nezha
a second time (the A/A floor); Nezha's jobs begin with what was learned. All ranks must have the same parameters, and all competitors the
same losses up to what the order of sums changes.

It needs root, contrib/build, and python3-torch with MPI, as Debian 13 has it with Open MPI 5.0. --debian makes a Debian 13 in a
directory (4 GB; some 5 minutes the first time), builds Nezha in it, and trains there; later runs take what is there.

  figures training --debian build/training/trixie --json training.json
  figures training --debian build/training/trixie --models vgg11 --cases 1+1 --minutes 20

Exit status: 1 when something failed; 2 for wrong arguments; 77 when this machine has no PyTorch with MPI or cannot run a lab."""


def build_parser():
    parser = argparse.ArgumentParser(prog="figures training", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--models", type=listed(jobs.MODELS), default=["alexnet"], metavar="LIST", help=f"of {', '.join(jobs.MODELS)}; default alexnet")
    add("--cases", type=listed(PRESETS), default=list(_CASES), metavar="LIST", help=f"contrib/bench's clusters; default {','.join(_CASES)}")
    add("--competitors", type=listed(jobs.COMPETITORS), default=list(jobs.COMPETITORS), metavar="LIST",
        help=f"of {', '.join(jobs.COMPETITORS)}; default all")
    add("--minutes", type=more_than_0, default=10.0, metavar="M", help="no round begins that would end later, but for the first of each "
        "model and cluster; default 10")
    add("--rounds", type=positive, default=5, metavar="N", help="of each model and cluster, at most; default 5")
    add("--settle", type=seconds, default=60.0, metavar="SECONDS", help="that Nezha learns before the rounds; 0: each job of Nezha's learns "
        "anew; default 60")
    add("--warm", type=int, default=2, metavar="N", help="a job's first iterations, which do not count; default 2")
    add("--seconds", type=more_than_0, default=10.0, metavar="S", help="a job's iterations behind them: none begins later; default 10")
    add("--least", type=positive, default=2, metavar="N", help="iterations that count, however long they take; default 2")
    add("--batch", type=positive, default=1, metavar="N", help="images per rank; default 1")
    add("--image", type=positive, default=64, metavar="N", help="an image's side; default 64")
    add("--bucket", type=more_than_0, default=25.0, metavar="MIB", help="PyTorch's buckets; default 25, as there")
    add("--divide", type=positive, default=1, metavar="N", help="layers N times narrower, to try it out")
    add("--build", default=DEFAULT_BUILD, metavar="DIR", help="made by contrib/build; default build/default")
    add("--debian", metavar="DIR", help="train in a Debian 13 in this directory, which is made where it is not there")
    add("--json", type=files.replaceable, metavar="FILE", help="every iteration of every job; written after each job")
    return parser


class Document:
    """What is measured, as it goes."""

    def __init__(self, path):
        self.path, self.whole = path, document.start("setups")

    def add(self):
        self.whole["setups"].append({})
        return self.keep

    def keep(self, measured, unfinished=None, summary=None):
        """In the place of what was kept of this setup. unfinished: the round that is under way."""
        every = [*measured.rounds, *([unfinished] if unfinished and unfinished not in measured.rounds else [])]
        self.whole["setups"][-1] = {
            "case": dataclasses.asdict(measured.case), "model": measured.model, "limit_seconds": measured.limit, "summary": summary,
            "orders": measured.orders, "learned": measured.learned and dataclasses.asdict(measured.learned),
            "rounds": [{who: dataclasses.asdict(job) for who, job in one.items()} for one in every]}
        return not self.path or document.write(self.whole, self.path)


def _measure(options):
    reason = jobs.why_not()
    if reason:
        raise LabUnavailable(reason)
    component = os.path.join(os.path.abspath(options.build), "component")
    if not os.path.isfile(os.path.join(component, "mca_coll_nezha.so")):
        raise LabError(f"there is no mca_coll_nezha.so in {component}: build first (contrib/build), or name the build by --build")
    kept, written = Document(options.json), True
    setups = [(model, PRESETS[case]) for model in options.models for case in options.cases]
    end = time.monotonic() + 60 * options.minutes
    for number, (model, case) in enumerate(setups):
        now = time.monotonic()
        effort = rounds.Effort(options.settle, options.warm, options.seconds, options.least, options.rounds,
                               now + (end - now) / (len(setups) - number))
        words = ["--model", model, *(word for name in ("batch", "image", "bucket", "divide") for word in (f"--{name}", str(getattr(options, name))))]
        keep = kept.add()
        with case.lab() as lab:
            measured = rounds.measure(lab, jobs.Launcher(case, _PROGRAM, component, words), model, options.competitors, effort,
                                      lambda text: print(f"{model}, {case.name}: {text}", file=sys.stderr, flush=True), keep)
        table.show(measured, options.warm)
        sys.stdout.flush()
        written = keep(measured, summary=table.summarise(measured, options.warm)) and written
        if measured.interrupted or measured.failure:
            return 1
    if not written:
        raise LabError(UNWRITTEN)
    return 0


def main(arguments=None):
    options = build_parser().parse_args(arguments)
    leave_on_signals()
    how = debian13.run if options.debian else _measure
    return exit_status("figures", lambda: how(options), BenchError)
