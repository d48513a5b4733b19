# SPDX-License-Identifier: BSD-3-Clause
"""What a call costs rank 0's processor in instructions of the component, as valgrind's callgrind counts them: bench
--instructions. A small vector, where calls cost, and a large one, where bytes do.

Two launches of different length, the difference of their counts over that of their calls: what comes before and after the
calls drops out. Only the engine's part of a call counts; what it spends waiting is in it, so that repetitions differ.
"""

import dataclasses
import re
import shutil

from . import launch, stats
from .competitors import NEZHA, Launcher
from .errors import BenchError
from .excerpt import excerpt

SMALL, LARGE = 4 << 10, 4 << 20
# Calls of the shorter and of the longer launch.
_CALLS = {SMALL: (20, 520), LARGE: (3, 13)}
REPETITIONS = 3

_COUNTED = re.compile(r"Collected : (\d+)")
_ENTRY = "nezha_carry"  # of the engine, see components/include/nezha
_RANK_0_ONLY = ('[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exec "$@"; '
                f'exec valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect={_ENTRY} "$@"')


def measure(lab, launcher, repetitions, deadline_seconds, progress):
    """{"sizes": {size: {"per_call": Estimate, "per_byte": Estimate}}}, or {"missing": why there is none}."""
    if shutil.which("valgrind") is None:
        return {"missing": "there is no valgrind here (apt-get install valgrind)"}
    found = {}
    try:
        for size in (SMALL, LARGE):
            progress.instructions(size)
            samples = [_per_call(lab, launcher, size, deadline_seconds) for _ in range(repetitions)]
            found[size] = {"per_call": dataclasses.asdict(stats.estimate(samples)),
                           "per_byte": dataclasses.asdict(stats.estimate([sample / size for sample in samples]))}
    except BenchError as error:
        return {"missing": str(error)}
    return {"sizes": found}


def _per_call(lab, launcher, size, deadline_seconds):
    fewer, more = _CALLS[size]
    below, above = (_count(lab, launcher, size, calls, deadline_seconds) for calls in (fewer, more))
    if above <= below:
        raise BenchError(f"{above} instructions in {more} calls of {size} bytes and {below} in {fewer}: the rails did not "
                         f"carry them, or the component was stripped of the symbol {_ENTRY}")
    return (above - below) / (more - fewer)


def _count(lab, launcher, size, calls, deadline_seconds):
    effort = dataclasses.replace(launcher.effort, sizes=(size,), iterations=calls, warmup=1)
    arguments, keywords = Launcher(launcher.case, launcher.programs, effort, launcher.nezha_mca).of(NEZHA)
    done = launch.follow(lab, wrapped(arguments, launcher.programs.mpi), keywords, deadline_seconds, lambda line: None)
    return counted(done)


def wrapped(arguments, program):
    """mpirun's options stay before what runs the program."""
    at = arguments.index(program)
    return [*arguments[:at], "sh", "-c", _RANK_0_ONLY, "sh", *arguments[at:]]


def counted(done):
    found = _COUNTED.search(done.words)
    if done.expired or done.status != 0 or found is None:
        why = "it took too long" if done.expired else f"status {done.status}"
        raise BenchError(f"the launch under valgrind failed ({why}): {' '.join(excerpt(done.words, 300).split())}")
    return int(found[1])
