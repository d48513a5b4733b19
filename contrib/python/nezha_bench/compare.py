# SPDX-License-Identifier: BSD-3-Clause
"""What contrib/bench does with its options: cases and competitors, one comparison per case, and its outputs."""

import dataclasses
import os
import signal
import sys

from nezha_lab import Lab

from . import document, learning_table, memory, progress, rounds, summary, table
from .cases import Case, PRESETS, presets
from .competitors import (ALL, LABELS, NEZHA, NEZHA_OTHER, NEZHA_THREADS, ON_A_LAB, ONE, USUAL, WITH_COMPONENT, Effort,
                          Launcher, Programs, component_of_build)
from .errors import BenchError
from .sizes import QUICK_SIZES, parse_sizes

EXIT_INVALID = 3


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
    sizes = parse_sizes(options.sizes or (QUICK_SIZES if options.quick else "4:64M"))
    seconds = options.time or (0.1 if options.quick else 0.25)
    return Effort(tuple(sizes), seconds, options.iterations, options.warmup, options.in_place)


def _wanted(options, case):
    """The competitors, subject first. With one rail, one and all are the same job."""
    usual = [NEZHA, NEZHA_THREADS] if options.cores is not None else list(USUAL)
    names = options.competitors.split(",") if options.competitors else usual
    if options.against and NEZHA_OTHER not in names:
        names.append(NEZHA_OTHER)
    for name in names:
        if name not in ON_A_LAB:
            raise BenchError(f"competitor '{name}': {', '.join(ON_A_LAB)} are allowed")
    if NEZHA_OTHER in (options.subject, *names) and not options.against:
        raise BenchError(f"{NEZHA_OTHER} is of another build: --against says which")
    if options.subject not in WITH_COMPONENT and not options.competitors:
        names.remove(NEZHA)
    if len(case.rails) == 1 and ONE in names and ALL in names:
        names.remove(ALL if options.subject != ALL else ONE)
    return [options.subject] + [name for name in names if name != options.subject]


def _programs(options):
    programs = Programs.of_build(os.path.abspath(options.build), options.osu)
    if options.component_dir:
        programs = dataclasses.replace(programs, component_dir=os.path.abspath(options.component_dir))
    if options.against:
        programs = dataclasses.replace(programs, other_dir=component_of_build(options.against))
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
    launcher = Launcher(case, programs, effort, tuple(map(tuple, options.nezha_mca)), options.cores)
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
    if options.learning:
        if options.against:
            raise BenchError("--learning is about one build alone: --against is not allowed beside it")
        programs.check([NEZHA])
        for case in cases:
            learning_table.run(Launcher(case, programs, effort, tuple(map(tuple, options.nezha_mca))), options.rounds or 5)
        return 0
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
