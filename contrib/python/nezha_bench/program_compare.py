# SPDX-License-Identifier: BSD-3-Clause
"""bench --program: a program instead of sizes, in the same alternating rounds."""

import os

from . import aggregator, choices, program, program_summary, program_table, progress, rounds
from .compare import in_turn

_ROUNDS = 3
_MOST_SECONDS = 3600.0


def run(options):
    cases, programs = choices.cases(options), choices.programs(options)
    clock = program.clock_of(os.path.abspath(options.build))
    return in_turn(cases, options.json, "programs", lambda case: _compare(options, case, programs, clock), program_summary.summarise,
                   program_table.print_summary)


def _compare(options, case, programs, clock):
    """(Measured, ProgramLauncher) of one case."""
    wanted = choices.wanted(options, case)
    programs.check_components(wanted)
    launcher = program.ProgramLauncher(case, programs, choices.command(options), options.since or 0.0,
                                       tuple(map(tuple, options.nezha_mca)), options.cores)
    count = options.rounds or _ROUNDS

    def run_one(lab, own, who, *_):
        return program.run(lab, own, who, clock, options.limit or _MOST_SECONDS)

    with (case.lab() as lab, aggregator.beside(lab, launcher),
          progress.make(case.name, options.subject, count * (len(wanted) + 1), 1) as seen):
        return rounds.measure(lab, launcher, options.subject, wanted, count, seen, run=run_one), launcher
