# SPDX-License-Identifier: BSD-3-Clause
"""Fits a description's guesses to what was measured: factors on latency, on the cost of a message, on that of a byte, on
the rate, and on what passes at once before it limits."""

import dataclasses
import math
import statistics

from . import answers, model
from .errors import PlanError
from .model import Way

# What a factor may reasonably be: so many e-folds away costs as much as an error of 1 in one observation. Rates are known best.
_FREEDOM = {"latency": 20.0, "message": 20.0, "byte": 20.0, "rate": 0.3, "burst": 20.0}
_FIRST_STEP, _LAST_STEP = 0.5, 0.004


@dataclasses.dataclass(frozen=True)
class Fit:
    cluster: object
    factors: dict  # {what: factor}
    errors: list  # (Observation, predicted over measured)

    @property
    def typical(self):
        """The median of the errors, as a part."""
        return statistics.median(abs(ratio - 1) for _, ratio in self.errors)


def fit(cluster, observations):
    """PlanError where they are too few."""
    if len(observations) < 3:
        raise PlanError(f"3 measured times at least are needed to fit a description to, not {len(observations)}")

    def badness(logs):
        changed = with_factors(cluster, {name: math.exp(log) for name, log in logs.items()})
        misses = sum(math.log(predicted(changed, one) / one.seconds) ** 2 for one in observations)
        return misses + sum((log / _FREEDOM[name]) ** 2 for name, log in logs.items())

    logs = _descend(badness, dict.fromkeys(_FREEDOM, 0.0))
    factors = {name: math.exp(log) for name, log in logs.items()}
    found = with_factors(cluster, factors)
    return Fit(found, factors, [(one, predicted(found, one) / one.seconds) for one in observations])


def _descend(badness, logs):
    """One factor after the other, by ever smaller steps."""
    step, best = _FIRST_STEP, badness(logs)
    while step > _LAST_STEP:
        improved = False
        for name in logs:
            for way in (step, -step):
                trial = {**logs, name: logs[name] + way}
                value = badness(trial)
                if value < best:
                    logs, best, improved = trial, value, True
                    break
        if not improved:
            step /= 2
    return logs


def with_factors(cluster, factors):
    rails = tuple(dataclasses.replace(rail, **{name: getattr(rail, name) * factor for name, factor in factors.items()})
                  for rail in cluster.rails)
    cpu = dataclasses.replace(cluster.cpu, fold=cluster.cpu.fold * factors["byte"], call=cluster.cpu.call * factors["message"],
                              piece=cluster.cpu.piece * factors["message"])
    return cluster.replaced(rails=rails, cpu=cpu)


def predicted(cluster, observation):
    """Seconds that the model gives for it."""
    shaped = cluster.replaced(nodes=observation.nodes, ranks_per_node=observation.ranks_per_node, aggregators=None)
    if not observation.algorithm:
        return answers.answer(shaped, observation.size).best.seconds
    rails = [(rail.name,) for rail in shaped.trunk] if observation.one_rail else [()]
    return min(model.estimate(shaped, Way(observation.algorithm, names), observation.size).seconds for names in rails)
