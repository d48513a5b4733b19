# SPDX-License-Identifier: BSD-3-Clause
"""How a sender's bytes are spread over rails: as the trunk does it (components/trunk/earliest_finish.cc), but for round trips that differ."""

import dataclasses

from .algorithms import LEAST, LEAST_MICROSECONDS, WHOLE


@dataclasses.dataclass(frozen=True)
class Spread:
    rails: tuple
    shares: tuple  # of the bytes, by rail
    rate: float  # of all together
    latency: float  # until the last of them begins to arrive
    frame: float  # work for one
    frames: int  # of one message: one for each rail that it is worth it for


def over(rails, devices, message, size):
    """Of messages of `message` bytes, `size` in all, that are sent at once from one node over some of its rails. Small ones are not split, but
    where they are many each goes over the rail that is free."""
    by_rate = sorted(rails, key=lambda rail: (-rail.rate, rail.latency))
    least = [_least(rail, message) for rail in by_rate]
    used = 1
    if message > least[0] or size > 1.5 * least[0]:
        used = max(number for number in range(1, len(rails) + 1) if _in_time(by_rate[:number], least[number - 1], size))
    return _over(by_rate[:used], devices, min(used, max(1, int(message // least[0]))))


def _least(rail, message):
    """What it is not worth splitting there. The rail is calm while it holds no more than half as much again. Vectors of WHOLE go before the engine has measured
    how slow a rail is."""
    return min(WHOLE, max(LEAST, 1e-6 * LEAST_MICROSECONDS * rail.rate)) if message > WHOLE else WHOLE


def _in_time(rails, least, size):
    """Whether the slowest of them is done with the least piece when all would be done with everything."""
    return len(rails) == 1 or least / rails[-1].rate <= size / sum(rail.rate for rail in rails)


def _over(rails, devices, frames):
    rates = [_rate(rail, devices, rails) / (rail.contention * rail.overlap if len(rails) > 1 else 1.0) for rail in rails]
    total = sum(rates)
    work = sum(rate * rail.message for rail, rate in zip(rails, rates)) / total
    return Spread(tuple(rails), tuple(rate / total for rate in rates), total, max(rail.latency for rail in rails), work, frames)


def _rate(rail, devices, together):
    """What the rail and its PCIe device let through while these rails are busy: what a device has, its rails share by their rates."""
    if not rail.device:
        return rail.rate
    wanted = sum(other.rate for other in together if other.device == rail.device)
    return rail.rate * min(1.0, devices[rail.device] / wanted)
