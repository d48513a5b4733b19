# SPDX-License-Identifier: BSD-3-Clause
"""What contrib/bench does with its options: one comparison per case, and its outputs."""

import os
import sys

from nezha_lab.leaving import EXIT_INTERRUPTED

from . import choices, document, instructions, learning_table, memory, progress, rounds, summary, table
from .competitors import LABELS, NEZHA, Launcher
from .errors import EXIT_INVALID

_VALGRIND_SECONDS = 120.0


def _picture_path(options, case, several):
    root, suffix = os.path.splitext(options.picture)
    return f"{root}-{case.name}{suffix}" if several else options.picture


def compare(options, case, programs, effort):
    """(Measured, Launcher) of one case."""
    wanted = choices.wanted(options, case)
    for name, reason in programs.check(wanted):
        print(f"bench: {LABELS[name]} is left out: {reason}", file=sys.stderr)
        wanted.remove(name)
    count = options.rounds or (5 if options.quick else 15)
    launcher = Launcher(case, programs, effort, tuple(map(tuple, options.nezha_mca)), options.cores)
    launches = count * (len(wanted) + 1)
    with (case.lab() as lab,
          progress.make(case.name, options.subject, launches, len(effort.sizes)) as seen):
        measured = rounds.measure(lab, launcher, options.subject, wanted, count, seen, patience=options.patience)
        if options.memory and not measured.interrupted:
            seconds = rounds.deadline(effort, case.nodes)
            measured.memory = memory.measure(lab, launcher, wanted, seconds, seen)
        if options.instructions and not measured.interrupted:
            most = min(count, instructions.REPETITIONS)
            measured.instructions = instructions.measure(lab, launcher, most, _VALGRIND_SECONDS, seen)
    return measured, launcher


def run(options):
    cases, effort, programs = choices.cases(options), choices.effort(options), choices.programs(options)
    if options.learning:
        programs.check([NEZHA])
        for case in cases:
            learning_table.run(Launcher(case, programs, effort, tuple(map(tuple, options.nezha_mca))), options.rounds or 5)
        return 0
    if options.instructions:
        programs.check([NEZHA])

    def show(case, result):
        table.print_summary(result)
        if options.picture:
            from . import picture  # matplotlib takes a second to load
            picture.draw(result, _picture_path(options, case, len(cases) > 1))

    return in_turn(cases, options.json, "cases", lambda case: compare(options, case, programs, effort),
                   lambda measured, _: summary.summarise(measured, options.statistic), show)


def in_turn(cases, json_path, kind, measure, summarise, show):
    """measure(case) gives (Measured, Launcher), summarise() of these what is written and shown. Returns the exit status."""
    whole, invalid = document.start(kind), False
    for case in cases:
        measured, launcher = measure(case)
        result = summarise(measured, launcher)
        document.add_case(whole, measured, result, launcher, kind)
        if json_path:
            document.write(whole, json_path)
        show(case, result)
        invalid = invalid or bool(result["invalid"])
        if measured.interrupted:
            return EXIT_INTERRUPTED
    return EXIT_INVALID if invalid else 0
