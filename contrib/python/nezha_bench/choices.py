# SPDX-License-Identifier: BSD-3-Clause
"""What contrib/bench's options choose: clusters, competitors, programs, effort."""

import dataclasses
import os
import shlex

from . import summary
from .cases import Case, PRESETS, presets
from .competitors import (BY_MPICH, GLOO, NEZHA, NEZHA_OTHER, NEZHA_RAILS, NEZHA_THREADS, ON_A_LAB, OVER_ONE, USUAL, USUAL_BY_NODE, WITH_COMPONENT,
                          Effort, Programs, component_of_build)
from .collectives import ALLREDUCE, COLLECTIVES
from .errors import BenchUsage
from .sizes import QUICK_SIZES, check_powers_of_two, parse_sizes

COMPUTES, SLEEPS = "computes", "sleeps"  # what --overlap has beside its calls


def cases(options):
    shape = options.nodes or options.rails or options.node_rates or options.unshaped or options.ranks
    if options.cases:
        if shape:
            raise BenchUsage("--cases names whole clusters: --nodes, --ranks, --rail, --node-rate and --unshaped are not allowed beside it")
        return presets(options.cases)
    if not shape:
        return [PRESETS["1+1"]]
    rails = tuple(options.rails or ("1gbit", "1gbit"))
    rails = ("none",) * len(rails) if options.unshaped else rails
    return [Case("own", options.nodes or _listed(options.ranks) or 4, rails, tuple(options.node_rates), _ranks(options))]


def _listed(ranks):
    """How many nodes a list of each one's ranks is of; 0: it is one number for all."""
    return len(ranks) if ranks and len(ranks) > 1 else 0


def _ranks(options):
    listed = _listed(options.ranks)
    if listed and options.nodes not in (None, listed):
        raise BenchUsage(f"--ranks lists {listed} nodes, --nodes says {options.nodes}")
    return tuple(options.ranks) if listed else options.ranks[0] if options.ranks else 1


def effort(options):
    sizes = parse_sizes(options.sizes or (QUICK_SIZES if options.quick else "4:64M"))
    if options.learning:
        check_powers_of_two(sizes, "for sizes from one to the next are learned as one")
    seconds = options.time or (0.1 if options.quick else 0.25)
    return Effort(tuple(sizes), seconds, options.iterations, options.warmup, options.in_place, options.rest, collective=options.collective)


def wanted(options, case):
    """The competitors, subject first. With one rail or one node, one and all are the same job."""
    usual = [NEZHA, NEZHA_THREADS] if options.cores is not None else list(USUAL if case.ranks == 1 else USUAL_BY_NODE)
    if case.aggregator:
        usual.insert(1, NEZHA_RAILS)
    refused = _refused(options)
    usual = [name for name in usual if name not in refused]
    names = options.competitors.split(",") if options.competitors else usual
    if options.against and NEZHA_OTHER not in names:
        names.append(NEZHA_OTHER)
    for name in names:
        if name not in ON_A_LAB:
            raise BenchUsage(f"competitor '{name}': {', '.join(ON_A_LAB)} are allowed")
        if names.count(name) > 1:
            raise BenchUsage(f"competitor '{name}': it is named twice")
    if NEZHA_OTHER in (options.subject, *names) and not options.against:
        raise BenchUsage(f"{NEZHA_OTHER} is of another build: --against says which")
    for name in (options.subject, *names):
        if name in refused:
            raise BenchUsage(f"competitor '{name}': {refused[name]} is not allowed with it")
    if options.subject not in WITH_COMPONENT and not options.competitors:
        names.remove(NEZHA)
    for every, one in OVER_ONE.items() if len(case.rails) == 1 or case.nodes == 1 else ():
        if one in names and every in names:
            names.remove(every if options.subject != every else one)
    return [options.subject] + [name for name in names if name != options.subject]


def _refused(options):
    """{competitor: why} of those that cannot do what is measured."""
    if options.program or options.overlap:
        option = "--program" if options.program else "--overlap"
        return {GLOO: f"it runs no MPI program, {option}",
                **dict.fromkeys(BY_MPICH, f"it runs no program that was built for Open MPI, {option}")}
    return {GLOO: "it is compared by allreduces, --collective"} if options.collective != ALLREDUCE else {}


def programs(options):
    chosen = Programs.of_build(os.path.abspath(options.build), options.osu)
    if options.component_dir:
        chosen = dataclasses.replace(chosen, component_dir=os.path.abspath(options.component_dir))
    if options.against:
        chosen = dataclasses.replace(chosen, other_dir=component_of_build(options.against))
    return chosen


def statistic(options):
    """What is compared of a launch: for collectives with a root the slowest rank, else as a rank has it on average."""
    if options.statistic:
        return options.statistic
    return summary.SLOWEST if COLLECTIVES[options.collective].rooted else summary.AVERAGE


def command(options):
    """The program's command line as words: --program is split as a shell would, what follows -- is as it stands."""
    try:
        words = shlex.split(options.program)
    except ValueError as error:
        raise BenchUsage(f"--program {options.program}: {error}") from None
    if not words:
        raise BenchUsage("--program: a command line is needed")
    return words + options.words


# What is about sizes, and what is about programs.
_OF_SIZES = ("collective", "sizes", "time", "iterations", "warmup", "rest", "patience", "quick", "in_place", "statistic", "memory",
             "instructions", "learning", "overlap", "osu", "picture")
_OF_PROGRAMS = ("words", "since", "limit")
# What --learning and --overlap decide by themselves, or do not do; and what OSU's program cannot.
_NOT_EITHER = ("collective", "cores", "osu", "statistic", "time", "iterations", "warmup", "rest", "patience", "memory", "instructions",
               "json", "picture")
_NOT_LEARNING = (*_NOT_EITHER, "competitors", "subject", "against", "overlap")
_NOT_OVERLAP = (*_NOT_EITHER, "in_place")
_NOT_OSU = ("collective", "time", "rest", "in_place", "memory", "instructions")
_WRITTEN = {"since": "from"}


def check_together(options, default):
    """Refuses options that mean nothing beside the others. default(name) is what one is when it is not given."""
    def among(names):
        return [name for name in names if getattr(options, name) != default(name)]

    given = among(_OF_SIZES if options.program is not None else _OF_PROGRAMS)
    if given and options.program is not None:
        raise BenchUsage(f"{_option(given[0])} is about our own program's sizes: it is not allowed beside --program")
    if "words" in given:
        raise BenchUsage(f"'{options.words[0]}': only --program takes words without an option before them, after --")
    if given:
        raise BenchUsage(f"{_option(given[0])} is about a program's run: it is allowed beside --program only")
    for name in among(_NOT_LEARNING) if options.learning else ():
        raise BenchUsage(f"--learning shows Nezha alone, in launches of its own kind: {_option(name)} is not used with it")
    for name in among(_NOT_OVERLAP) if options.overlap else ():
        raise BenchUsage(f"--overlap has launches of its own kind: {_option(name)} is not used with it")
    for name in among(_NOT_OSU) if options.osu else ():
        raise BenchUsage(f"--osu replaces our own program: {_option(name)} is not used with it")
    if options.in_place and options.collective not in (ALLREDUCE, "iallreduce"):
        raise BenchUsage(f"--in-place is for allreduces: it is not used with --collective {options.collective}")
    if options.time is not None and options.iterations is not None:
        raise BenchUsage("--iterations is in the place of a time: --time is not used with it")


def _option(name):
    return f"--{_WRITTEN.get(name, name).replace('_', '-')}"
