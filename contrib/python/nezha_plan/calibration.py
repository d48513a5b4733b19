# SPDX-License-Identifier: BSD-3-Clause
"""Fits a description's guesses to what was measured: factors on latency, on the cost of a message, on that of a byte, on
the rate, and on the rest between calls."""

import dataclasses
import itertools
import math
import statistics

from . import answers
from .corrections import Corrections
from .errors import PlanError
from .model import Way

# What a factor may reasonably be: so many e-folds away costs as much as an error of 1 in one observation. Rates are known best.
_FREEDOM = {"latency": 20.0, "message": 20.0, "byte": 2.0, "rate": 0.1, "rest": 0.5, "rest_byte": 0.5}
_OF_RAILS = ("latency", "message", "byte", "rate")
_FIRST_STEP, _LAST_STEP = 0.5, 0.004
_CALM = 0.05  # a measurement that differs from itself by more counts less


@dataclasses.dataclass(frozen=True)
class Fit:
    cluster: object
    factors: dict  # {what: factor}
    errors: list  # (Observation, predicted over measured)

    @property
    def corrected(self):
        """The cluster with these errors made up for."""
        return self.cluster.replaced(corrections=Corrections(self.errors))

    @property
    def typical(self):
        """The median of the errors, as a part."""
        return statistics.median(abs(ratio - 1) for _, ratio in self.errors)


def fit(cluster, observations):
    """To those of rails like the described ones. PlanError where they are too few."""
    observations = [one for one in observations if one.is_of(cluster)]
    if len(observations) < 3:
        raise PlanError(f"3 measured times of rails like the described ones are needed at least, not {len(observations)}")

    def badness(logs):
        changed = with_factors(cluster, {name: math.exp(log) for name, log in logs.items()})
        misses = sum(_weight(one) * math.log(predicted(changed, one) / one.seconds) ** 2 for one in observations)
        return misses + sum((log / _FREEDOM[name]) ** 2 for name, log in logs.items())

    logs = _descend(badness, dict.fromkeys(_FREEDOM, 0.0))
    factors = {name: math.exp(log) for name, log in logs.items()}
    found = with_factors(cluster, factors)
    return Fit(found, factors, [(one, predicted(found, one) / one.seconds) for one in observations])


def _weight(observation):
    return min(1.0, (_CALM / observation.noise) ** 2) if observation.noise else 1.0


def _descend(badness, logs):
    """By ever smaller steps: of one factor, or of two where that does not help, since one may make up for another."""
    step, best = _FIRST_STEP, badness(logs)
    while step > _LAST_STEP:
        trials = ({**logs, **dict(zip(names, moved))} for count in (1, 2) for names in itertools.combinations(logs, count)
                  for moved in itertools.product(*((logs[name] + step, logs[name] - step) for name in names)))
        for trial in trials:
            value = badness(trial)
            if value < best:
                logs, best = trial, value
                break
        else:
            step /= 2
    return logs


def with_factors(cluster, factors):
    rails = tuple(dataclasses.replace(rail, **{name: getattr(rail, name) * factors[name] for name in _OF_RAILS}) for rail in cluster.rails)
    cpu = dataclasses.replace(cluster.cpu, fold=cluster.cpu.fold * factors["byte"], call=cluster.cpu.call * factors["message"],
                              piece=cluster.cpu.piece * factors["message"])
    return cluster.replaced(rails=rails, cpu=cpu, rest=cluster.rest * factors["rest"], rest_byte=cluster.rest_byte * factors["rest_byte"])


def predicted(cluster, observation):
    """Seconds that the model gives for it."""
    shaped = cluster.replaced(nodes=observation.nodes, ranks_per_node=observation.ranks_per_node, aggregators=None)
    if not observation.algorithm:
        return answers.answer(shaped, observation.size).best.seconds
    rails = [(rail.name,) for rail in shaped.trunk] if observation.one_rail else [()]
    return min(answers.estimate(shaped, Way(observation.algorithm, names), observation.size).seconds for names in rails)
