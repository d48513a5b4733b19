# SPDX-License-Identifier: BSD-3-Clause
"""What contrib/bench does with its options: one comparison per case, and its outputs."""

import argparse
import os
import sys

from nezha_lab.leaving import EXIT_INTERRUPTED

from . import aggregator, choices, document, files, instructions, learning_table, memory, overlap, progress, rounds, summary, table
from .competitors import LABELS, NEZHA, Launcher
from .errors import EXIT_INVALID, UNWRITTEN, BenchError, BenchUsage

_VALGRIND_SECONDS = 120.0


def _picture_path(options, case, several):
    root, suffix = os.path.splitext(options.picture)
    return f"{root}-{case.name}{suffix}" if several else options.picture


def _wanted(options, case, programs):
    """The competitors, subject first, without those that are not there."""
    wanted = choices.wanted(options, case)
    for name, reason in programs.check(wanted):
        print(f"bench: {LABELS[name]} is left out: {reason}", file=sys.stderr)
        wanted.remove(name)
    return wanted


def _launcher(options, case, programs, effort):
    return Launcher(case, programs, effort, tuple(map(tuple, options.nezha_mca)), options.cores)


def compare(options, case, programs, effort):
    """(Measured, Launcher) of one case."""
    wanted = _wanted(options, case, programs)
    count = options.rounds or (5 if options.quick else 15)
    launcher = _launcher(options, case, programs, effort)
    launches = count * (len(wanted) + 1)
    with (case.lab() as lab, aggregator.beside(lab, launcher),
          progress.make(case.name, options.subject, launches, len(effort.sizes)) as seen):
        measured = rounds.measure(lab, launcher, options.subject, wanted, count, seen, patience=options.patience)
        try:
            if options.memory and not measured.interrupted:
                seconds = rounds.deadline(effort, case.processes)
                measured.memory = memory.measure(lab, launcher, wanted, seconds, seen)
            if options.instructions and not measured.interrupted:
                most = min(count, instructions.REPETITIONS)
                measured.instructions = instructions.measure(lab, launcher, most, _VALGRIND_SECONDS, seen)
        except (KeyboardInterrupt, SystemExit):
            measured.interrupted = True
        except BenchError as error:
            measured.interrupted, measured.failure = True, error
    return measured, launcher


def run(options):
    cases, effort, programs = choices.cases(options), choices.effort(options), choices.programs(options)
    if options.learning:
        programs.check([NEZHA])
        for case in cases:
            learning_table.run(_launcher(options, case, programs, effort), options.rounds or 5)
        return 0
    if options.overlap:
        for case in cases:
            overlap.run(_launcher(options, case, programs, effort), _wanted(options, case, programs), options.rounds or 5, options.overlap)
        return 0
    if options.instructions:
        programs.check([NEZHA])

    if options.picture:
        from . import picture  # matplotlib takes a second to load
        for case in cases:
            _check_picture(_picture_path(options, case, len(cases) > 1))

    def draw(case, result):
        return not options.picture or picture.draw(result, _picture_path(options, case, len(cases) > 1))

    return in_turn(cases, options.json, "cases", lambda case: compare(options, case, programs, effort),
                   lambda measured, _: summary.summarise(measured, choices.statistic(options), options.collective), table.print_summary, draw)


def _check_picture(path):
    try:
        files.picture(path)
    except argparse.ArgumentTypeError as error:
        raise BenchUsage(f"--picture: {error}") from None


def in_turn(cases, json_path, kind, measure, summarise, show, draw=lambda case, result: True):
    """measure(case) gives (Measured, Launcher), summarise() of these what is written and shown; draw(case, result) says whether
    it could write. Returns the exit status."""
    whole, invalid, written = document.start(kind), False, True
    for case in cases:
        measured, launcher = measure(case)
        result = summarise(measured, launcher)
        document.add_case(whole, measured, result, launcher, kind)
        # Files before the table, which a reader of our output may end, as head does.
        if json_path:
            written = document.write(whole, json_path) and written
        written = draw(case, result) and written
        show(result)
        invalid = invalid or bool(result["invalid"])
        if measured.failure:
            raise measured.failure
        if measured.interrupted:
            return EXIT_INTERRUPTED
    if not written:
        raise BenchError(UNWRITTEN)
    return EXIT_INVALID if invalid else 0
