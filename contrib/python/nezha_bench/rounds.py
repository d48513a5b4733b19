# SPDX-License-Identifier: BSD-3-Clause
"""All rounds of one case: in each, every competitor once, and the subject a second time."""

import dataclasses
import statistics
import time

from nezha_lab.limit import Rhythm

from . import launch, stolen
from .competitors import AGAIN, GLOO, order
from .errors import BenchError

_PATIENCE = 4.0
_FEWEST_CALLS = 20  # that a launch makes of a size, measured or not, however long they take


@dataclasses.dataclass
class Measured:
    """rounds[i] maps a competitor, or AGAIN, to its Launch. limits: seconds per size, 0 where none can be computed."""

    case: object
    subject: str
    competitors: list
    rounds: list = dataclasses.field(default_factory=list)
    orders: list = dataclasses.field(default_factory=list)
    scouts: list = dataclasses.field(default_factory=list)
    limits: dict = dataclasses.field(default_factory=dict)
    memory: dict = dataclasses.field(default_factory=dict)
    instructions: dict = dataclasses.field(default_factory=dict)
    interrupted: bool = False
    failure: BenchError = None


def deadline(effort, processes):
    """Generous: a launch that needs longer hangs. Few calls of a large vector may take longer than the size's time."""
    slowest = 8 * 2 * sum(effort.sizes) / 100e6 * max(4, processes)
    resting = len(effort.sizes) * ((effort.iterations or _FEWEST_CALLS) + (effort.warmup or _FEWEST_CALLS)) * (effort.rest or 0) / 1000
    return 60.0 + _PATIENCE * (len(effort.sizes) * (effort.seconds + 1.5) + slowest) + resting


def measure(lab, launcher, subject, competitors, count, progress, enough=lambda: False, run=launch.run, patience=0.0):
    """Measures `count` rounds into a Measured. Ctrl-C or a signal of leaving.leave_on_signals() ends it early and keeps the
    rounds that are complete, if there are any; so does a launch that fails, which then is the Measured's failure.

    No further round begins once enough() is true. run makes one launch, as launch.run does. patience: for so many seconds
    after the last round others may begin, of the sizes alone of which the host left too few measurements calm.
    """
    case = launcher.case
    measured = Measured(case, subject, list(competitors))
    try:
        if GLOO in competitors:
            _scout_gloo(lab, launcher, deadline(launcher.effort, case.processes), measured, progress)
        for _ in range(count):
            _round(lab, launcher, measured, count, progress, run)
            if enough():
                break
        _until_calm(lab, launcher, measured, progress, run, patience)
    except (KeyboardInterrupt, SystemExit):
        if not measured.rounds:
            raise
        measured.interrupted = True
    except BenchError as error:
        if not measured.rounds:
            raise
        measured.interrupted, measured.failure = True, error
    measured.limits = {size: case.limit_seconds(lab, size, launcher.effort.collective, _rhythm(measured.rounds, size))
                       for size in launcher.effort.sizes}
    return measured


def complete(one, count):
    """([one(number)...] of the rounds that are complete, what ended them early or None), as measure() has it: raised where none is."""
    found = []
    try:
        for number in range(count):
            found.append(one(number))
    except (KeyboardInterrupt, SystemExit, BenchError) as error:
        if not found:
            raise
        return found, error
    return found, None


def _rhythm(rounds, size):
    """That of the competitor between whose calls most comes back to the rails' buckets, so that none is faster than the limit;
    None where a program tells nothing of it."""
    pauses, calls = {}, {}
    for who, found in ((who, found.sizes[size]) for launches in rounds for who, found in launches.items() if size in found.sizes):
        pauses.setdefault(who, []).append(found.get("pause_us"))
        calls.setdefault(who, []).append(found.get("iterations"))
    if any(None in each for each in (*pauses.values(), *calls.values())):
        return None
    return Rhythm(int(min(map(statistics.median, calls.values()))), max(map(statistics.median, pauses.values())) / 1e6)


def _round(lab, launcher, measured, count, progress, run):
    number, seconds = len(measured.rounds), deadline(launcher.effort, measured.case.processes)
    sequence = order([*measured.competitors, AGAIN], number)
    launches = {}
    for who in sequence:
        progress.launch(number, count, who)
        real = measured.subject if who == AGAIN else who
        launches[who] = run(lab, launcher, real, seconds, progress.size)
    measured.rounds.append(launches)
    measured.orders.append(sequence)
    progress.round_done(number, count)


def _until_calm(lab, launcher, measured, progress, run, patience):
    whole, end = launcher.effort, time.monotonic() + patience
    others = [*measured.competitors, AGAIN]
    try:
        while time.monotonic() < end:
            sizes = [size for size in whole.sizes if stolen.Samples(measured.rounds, size).too_few(measured.subject, others)]
            if not sizes:
                break
            progress.more(sizes)
            launcher.effort = dataclasses.replace(whole, sizes=tuple(sizes))
            _round(lab, launcher, measured, len(measured.rounds) + 1, progress, run)
    finally:
        launcher.effort = whole


def _scout_gloo(lab, launcher, seconds, measured, progress):
    """Lets Gloo try all its algorithms at each size; the rounds then use what was fastest."""
    progress.scout(GLOO)
    found = launch.run(lab, launcher, GLOO, seconds + 30.0 * len(launcher.effort.sizes), progress.scout_size)
    launcher.gloo_plan = {size: members["algorithm"] for size, members in found.sizes.items()}
    measured.scouts.append(found)
