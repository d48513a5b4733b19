# SPDX-License-Identifier: BSD-3-Clause
"""How a sender's bytes are spread over rails: as the trunk does it, so that all are done at the same time (earliest finish)."""

import dataclasses

from .algorithms import WHOLE


@dataclasses.dataclass(frozen=True)
class Spread:
    rails: tuple
    shares: tuple  # of the bytes, by rail
    rate: float  # of all together
    latency: float  # until a message begins to arrive: what a message of b bytes takes is latency + b / rate
    message: float  # work for one message, which is one frame for each rail


def over(rails, devices, message, size):
    """Of messages of `message` bytes, `size` in all, that are sent at once from one node over some of its rails."""
    if message <= WHOLE or len(rails) == 1:
        return min((_of_first([rail], devices, size) for rail in rails), key=_takes(size))
    rails = sorted(rails, key=lambda rail: rail.latency)
    return min((_of_first(rails[:used], devices, size) for used in range(1, len(rails) + 1)), key=_takes(size))


def _takes(size):
    return lambda spread: spread.latency + spread.message + size / spread.rate


def _of_first(rails, devices, size):
    """Over these and no others. A rail that would begin after the others are done carries nothing."""
    several = len(rails) > 1
    rates = [_rate(rail, devices, rails) / (rail.contention if several else 1.0) for rail in rails]
    total = sum(rates)
    done = (size + sum(rate * rail.latency for rail, rate in zip(rails, rates))) / total
    if several and done <= rails[-1].latency:
        return _of_first(rails[:-1], devices, size)
    shares = tuple(rate * (done - rail.latency) / size for rail, rate in zip(rails, rates))
    return Spread(tuple(rails), shares, total, done - size / total, sum(rail.message for rail in rails))


def _rate(rail, devices, together):
    """What the rail and its PCIe device let through while these rails are busy: what a device has, its rails share by their rates."""
    if not rail.device:
        return rail.rate
    wanted = sum(other.rate for other in together if other.device == rail.device)
    return rail.rate * min(1.0, devices[rail.device] / wanted)
