# SPDX-License-Identifier: BSD-3-Clause
"""What a fitted model is off by at the sizes that were measured, made up for there and in between."""

import copy
import dataclasses
import itertools
import math
import statistics

_ANY = None  # in the place of an algorithm
_REACH = 2  # times as small as the smallest measured size of an algorithm, or as large as its largest: so far its own errors count
_FADES = 16  # times as large as that those of all algorithms count no more: something else limits there. Small vectors all wait for the same


class Corrections:
    """errors: of calibration.Fit. An algorithm is corrected by its own errors; one that was not measured near that size, by those of all
    algorithms, since the processors and the network were the same. Other numbers of nodes or ranks are not corrected, but as_of()."""

    def __init__(self, errors):
        self._of = None  # the cluster whose errors count; None: each one's own
        found = {}
        for one, ratio in errors:
            for name in {one.algorithm, _ANY}:
                found.setdefault(_key(one, name, one.one_rail and name is not _ANY), []).append((one.size, math.log(ratio)))
        self._known = {key: _means(entries) for key, entries in found.items()}

    def as_of(self, cluster):
        """For what that cluster would be with other numbers: by its errors, or what differs would be that one of the two is corrected."""
        found = copy.copy(self)
        found._of = cluster
        return found

    def corrected(self, cluster, estimate):
        """The estimate with its time and that of its resources so many times as long."""
        factor = 1 / math.exp(self._error(self._of or cluster, estimate.way, estimate.size))
        return dataclasses.replace(estimate, seconds=estimate.seconds * factor,
                                   busy={resource: seconds * factor for resource, seconds in estimate.busy.items()})

    def _error(self, cluster, way, size):
        own = self._known.get(_key(cluster, way.algorithm, len(way.rails) == 1))
        if own and own[0][0] <= size * _REACH and size <= own[-1][0] * _REACH:
            return _interpolated(own, size)
        known = self._known.get(_key(cluster, _ANY, False), [])
        return _interpolated(known, size) * _weight(known, size)


def _key(of, algorithm, one_rail):
    return of.nodes, of.ranks_per_node, algorithm, one_rail


def _means(entries):
    """By size, each once."""
    groups = itertools.groupby(sorted(entries), key=lambda entry: entry[0])
    return [(size, statistics.fmean(error for _, error in group)) for size, group in groups]


def _weight(known, size):
    """1 up to sizes near the known ones, 0 far beyond."""
    beyond = size / known[-1][0] / _REACH if known else 1
    return min(1.0, max(0.0, 1 - math.log(beyond, _FADES)))


def _interpolated(known, size):
    """By the logarithm of the size. Beyond the first and the last of them its error counts; 0 where nothing is known."""
    below = [entry for entry in known if entry[0] <= size]
    above = [entry for entry in known if entry[0] >= size]
    if not below or not above:
        return below[-1][1] if below else above[0][1] if above else 0.0
    (low, error), (high, other) = below[-1], above[0]
    return error if low == high else error + (other - error) * math.log(size / low) / math.log(high / low)
