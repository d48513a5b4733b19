# SPDX-License-Identifier: BSD-3-Clause
"""Medians of few, noisy samples, and what may be concluded from them.

Nothing here assumes a distribution: a median's interval comes from the order statistics (a sample lies below the true
median with probability one half), and the noise floor from running the same thing twice in each round.
"""

import dataclasses
import math
import statistics

CONFIDENCE = 0.95
FEWEST = 3  # samples: a verdict on fewer would tell a thing from itself in more than 1 - CONFIDENCE of the cases

FASTER, SLOWER, UNRESOLVED = "faster", "slower", "not resolvable"


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A median and an interval that holds the true one with at least the probability `coverage`."""

    median: float
    low: float
    high: float
    coverage: float
    samples: int


def estimate(samples):
    """The tightest symmetric interval of at least CONFIDENCE; with fewer than six samples all of them, which is less."""
    ordered = sorted(samples)
    cut, coverage = _cut(len(ordered))
    return Estimate(statistics.median(ordered), ordered[cut], ordered[-1 - cut], coverage, len(ordered))


def _cut(count):
    """How many samples may be left out at each end, and the coverage that remains."""
    def outside(cut):
        return 2.0 * sum(math.comb(count, i) for i in range(cut + 1)) / 2.0**count

    cut = 0
    while 2 * (cut + 1) < count and outside(cut + 1) <= 1.0 - CONFIDENCE:
        cut += 1
    return cut, max(0.0, 1.0 - outside(cut))


def pair_ratios(numerators, denominators):
    """Round by round: what disturbs a round disturbs both, and cancels."""
    return [above / below for above, below in zip(numerators, denominators, strict=True)]


def noise_floor(again_ratios):
    """The largest difference from 1 that a thing's ratio to itself does not exclude."""
    itself = estimate(again_ratios)
    return max(abs(itself.low - 1.0), abs(itself.high - 1.0))


def verdict(ratio, floor):
    """Of the subject, where ratio is an Estimate of competitor's time over subject's."""
    return verdict_within(ratio.median, ratio.low, ratio.high, ratio.samples, floor)


def verdict_within(median, low, high, samples, floor):
    """The same of a ratio whose interval was found otherwise."""
    if samples < FEWEST or abs(median - 1.0) <= floor or low <= 1.0 <= high:
        return UNRESOLVED
    return FASTER if median > 1.0 else SLOWER


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))
