# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration: the same MPI program on one network and on two, in about two minutes. Started by contrib/demo."""

import argparse
import os
import sys
import time

from nezha_lab.leaving import EXIT_INTERRUPTED, exit_status, leave_on_signals

from . import files, rounds, summary
from .cases import PRESETS
from .competitors import ALL, NEZHA, NEZHA_ONE, ONE, Effort, Launcher, Programs
from .errors import EXIT_INVALID, UNWRITTEN, BenchError
from .sizes import parse_sizes

_SIZES = "4K,64K,256K,1M,4M,16M"
_SECONDS_PER_SIZE = 0.2
# No round begins later than this after the start; a round takes some 20 seconds.
_ENOUGH_SECONDS = 90.0
MOST_ROUNDS = 5


def _measure(build, progress):
    """(summary, the error that has ended it or None)"""
    case = PRESETS["1+1"]
    programs = Programs.of_build(build)
    who = [NEZHA, NEZHA_ONE, ONE, ALL]
    programs.check(who)
    effort = Effort(tuple(parse_sizes(_SIZES)), _SECONDS_PER_SIZE, settled=True)
    start = time.monotonic()
    with (case.lab() as lab,
          progress.make("demo", NEZHA, MOST_ROUNDS * (len(who) + 1), len(effort.sizes)) as seen):
        measured = rounds.measure(lab, Launcher(case, programs, effort), NEZHA, who, MOST_ROUNDS, seen,
                                  lambda: time.monotonic() - start > _ENOUGH_SECONDS)
    return summary.summarise(measured), measured.failure


def main():
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--build", required=True, metavar="DIR", help="made by contrib/build")
    parser.add_argument("--picture", type=files.picture, metavar="FILE", help="default DIR/nezha-demo.png")
    parser.add_argument("--only-arguments", action="store_true", help=argparse.SUPPRESS)  # contrib/demo's first look at them
    options = parser.parse_args()
    if options.only_arguments:
        return 0
    from . import picture, progress, story  # not at the top: --help works on a machine that lacks the packages
    path = options.picture or os.path.join(options.build, "nezha-demo.png")
    print(f"Measuring, {MOST_ROUNDS} rounds, of which none begins later than {_ENOUGH_SECONDS:g} s from now", flush=True)

    def demonstrate():
        found, failure = _measure(os.path.abspath(options.build), progress)
        drawn = picture.draw(found, path)
        story.show(found, path if drawn else None, MOST_ROUNDS)
        if failure or not drawn:
            raise failure or BenchError(UNWRITTEN)
        return EXIT_INTERRUPTED if found["interrupted"] else EXIT_INVALID if found["invalid"] else 0

    leave_on_signals()
    return exit_status("demo", demonstrate, BenchError)


if __name__ == "__main__":
    sys.exit(main())
