# SPDX-License-Identifier: BSD-3-Clause
"""All jobs of one model on one cluster: Nezha learns, then rounds in which every competitor trains once and Nezha twice."""

import dataclasses
import os
import tempfile
import time

from nezha_bench.competitors import AGAIN, NEZHA, order
from nezha_lab.errors import LabError

from . import jobs

# Losses of one iteration may differ between competitors as the order of float32's sums allows.
LOSS_TOLERANCE = 1e-3
_PATIENCE = 300.0  # beyond what a job is to take
_LEARNING = 12  # iterations of the job that learns, at least: fewer settle nothing


@dataclasses.dataclass(frozen=True)
class Effort:
    """settle: seconds that Nezha trains and learns before the rounds. warm: iterations of a job that do not count. seconds, least:
    how long, and how many iterations at least, a job counts. rounds: at most. until: time.monotonic() from which on no round
    begins that would not end by then, as long as the one before took; the first always does."""

    settle: float
    warm: int
    seconds: float
    least: int
    rounds: int
    until: float


@dataclasses.dataclass
class Measured:
    """rounds[i] maps a competitor, or AGAIN, to its Job. learned: the Job in which Nezha learned, None without. limit: seconds that
    the wires need for an iteration's gradients, however large their buckets."""

    case: object
    model: str
    competitors: list
    learned: object = None
    rounds: list = dataclasses.field(default_factory=list)
    orders: list = dataclasses.field(default_factory=list)
    limit: float = 0.0
    interrupted: bool = False
    failure: str = ""

    def complete(self):
        return bool(self.rounds)


def measure(lab, launcher, model, competitors, effort, say, keep):
    """keep(measured) is called after each job that ended well."""
    measured = Measured(launcher.case, model, list(competitors))
    with tempfile.TemporaryDirectory() as place:
        table = os.path.join(place, "learned.json")
        try:
            if effort.settle and NEZHA in competitors:
                say(f"Nezha learns for {effort.settle:g} s")
                measured.learned = jobs.run(lab, launcher, NEZHA, ["--seconds", str(effort.settle), "--least", str(_LEARNING)], effort.settle + _PATIENCE,
                                            ("coll_nezha_table_save", table))
                keep(measured)
            known = ("coll_nezha_table", table) if os.path.exists(table) else ()  # where nothing has settled there is none
            _rounds(lab, launcher, measured, effort, say, keep, known)
        except (KeyboardInterrupt, SystemExit):
            measured.interrupted = True
            if not measured.complete():
                raise
        except LabError as error:
            measured.failure = str(error)
            if not measured.complete():
                raise
    return measured


def _rounds(lab, launcher, measured, effort, say, keep, known):
    length = ["--seconds", str(effort.seconds), "--least", str(effort.warm + effort.least), "--warm", str(effort.warm)]
    lasted = 0.0
    for number in range(effort.rounds):
        if number and time.monotonic() + lasted > effort.until:
            say(f"no time for round {number + 1} of {effort.rounds}")
            return
        begun, jobs_of_round = time.monotonic(), {}
        sequence = order([*measured.competitors, *([AGAIN] if NEZHA in measured.competitors else [])], number)
        for who in sequence:
            say(f"round {number + 1} of {effort.rounds}: {jobs.NAMES[who]}")
            real = NEZHA if who == AGAIN else who
            jobs_of_round[who] = jobs.run(lab, launcher, real, length, effort.seconds + _PATIENCE, known if real == NEZHA else ())
            measured.limit = measured.limit or lab.limit_seconds(4 * jobs_of_round[who].start["parameters"])
            keep(measured, jobs_of_round)
        check_losses(jobs_of_round)
        measured.rounds.append(jobs_of_round)
        measured.orders.append(sequence)
        lasted = time.monotonic() - begun


def check_losses(jobs_of_round):
    """All train the same network from the same start."""
    losses = {who: job.losses() for who, job in jobs_of_round.items()}
    for number, one in enumerate(zip(*losses.values()), 1):
        if max(one) - min(one) > LOSS_TOLERANCE * max(map(abs, one)):
            told = ", ".join(f"{who} {loss:.6g}" for who, loss in zip(losses, one))
            raise LabError(f"the losses of iteration {number} differ by more than the order of sums allows: {told}")
