# SPDX-License-Identifier: BSD-3-Clause
"""What contrib/bench's options choose: clusters, competitors, programs, effort."""

import dataclasses
import os

from .cases import Case, PRESETS, presets
from .competitors import (ALL, NEZHA, NEZHA_OTHER, NEZHA_THREADS, ON_A_LAB, ONE, USUAL, WITH_COMPONENT, Effort,
                          Programs, component_of_build)
from .errors import BenchError
from .sizes import QUICK_SIZES, parse_sizes


def cases(options):
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


def effort(options):
    sizes = parse_sizes(options.sizes or (QUICK_SIZES if options.quick else "4:64M"))
    seconds = options.time or (0.1 if options.quick else 0.25)
    return Effort(tuple(sizes), seconds, options.iterations, options.warmup, options.in_place)


def wanted(options, case):
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


def programs(options):
    chosen = Programs.of_build(os.path.abspath(options.build), options.osu)
    if options.component_dir:
        chosen = dataclasses.replace(chosen, component_dir=os.path.abspath(options.component_dir))
    if options.against:
        chosen = dataclasses.replace(chosen, other_dir=component_of_build(options.against))
    return chosen
