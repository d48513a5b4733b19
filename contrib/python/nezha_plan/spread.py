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


def over(rails, devices, message, size, split=0.0):
    """Of messages of `message` bytes, `size` in all, that are sent at once from one node over some of its rails."""
    if message <= WHOLE or len(rails) == 1:
        best = min(rails, key=lambda rail: rail.latency + rail.message + size / _rate(rail, devices, [rail]))
        return Spread((best,), (1.0,), _rate(best, devices, [best]), best.latency, best.message)
    rails = sorted(rails, key=lambda rail: rail.latency)
    rates = [_rate(rail, devices, rails) / rail.contention for rail in rails]
    used = 1
    while used < len(rails) and _finish(rails[:used], rates, size) > rails[used].latency:
        used += 1
    rails, done = rails[:used], _finish(rails[:used], rates, size)
    shares = [rate * (done - rail.latency) / size for rail, rate in zip(rails, rates)]
    total = sum(rates[:used])
    return Spread(tuple(rails), tuple(shares), total, done - size / total,
                  sum(rail.message for rail in rails) + (split if used > 1 else 0.0))


def _finish(rails, rates, size):
    """When all of them are done that carry a part."""
    head = sum(rate * rail.latency for rail, rate in zip(rails, rates))
    return (size + head) / sum(rates[:len(rails)])


def _rate(rail, devices, together):
    """What the rail and its PCIe device let through while these rails are busy: what a device has, its rails share by their rates."""
    if not rail.device:
        return rail.rate
    wanted = sum(other.rate for other in together if other.device == rail.device)
    return rail.rate * min(1.0, devices[rail.device] / wanted)
