# SPDX-License-Identifier: BSD-3-Clause
"""A random fault of a random rail each second, every result checked, and the throughput against what the rails allow that
survive at that moment: by the sum of each node's, of which the least counts.

A rail that is half-open between two nodes does not carry between these two any more, in either direction, since nothing is
acknowledged. Both still reach all others over it, so that neither has less to send over and nothing is taken off; only where
there is no other node both have lost the rail. An algorithm that sends all to one neighbour, as a ring does, cannot reach
that, and is measured against it all the same."""

import random
import time

from nezha_lab.limit import PAYLOAD
from nezha_lab.spec import bits_per_second

from .calls import median

_EVERY = 1.0
_USUAL = 6  # calls


class Allowed:
    """How much the rails carry, over time; the slowest node counts."""

    def __init__(self, lab):
        self._rates = [[bits_per_second(rate) for rate in own] for own in lab.spec.rates]
        self._broken = set()
        self._steps = [(0.0, self._rate())]

    def _rate(self):
        return min(sum(rate for rail, rate in enumerate(own) if (node, rail) not in self._broken)
                   for node, own in enumerate(self._rates)) * PAYLOAD / 8

    def change(self, ports, broken, when):
        self._broken = self._broken | ports if broken else self._broken - ports
        self._steps.append((when, self._rate()))

    def bytes_between(self, start, end):
        total, steps = 0.0, [*self._steps, (float("inf"), 0.0)]
        for (begin, rate), (until, _) in zip(steps, steps[1:]):
            total += rate * max(0.0, min(end, until) - max(start, begin))
        return total


def lost_by_pair(lab, rail, one, other):
    """The (node, rail) that count as broken when the rail does not carry between two nodes."""
    return {(one, rail), (other, rail)} if lab.spec.nodes == 2 else set()


def _faults(lab, choice):
    """(name, ports, do, undo) of a random fault of one rail."""
    rail, node = choice.randrange(lab.spec.rails), choice.choice([None, *range(lab.spec.nodes)])
    ports = {(number, rail) for number in lab.spec.node_list(node)}
    other = (choice.randrange(lab.spec.nodes - 1) + 1 + (node or 0)) % lab.spec.nodes
    return choice.choice([
        (f"cut {rail} {node}", ports, lambda: lab.cut(rail, node), lambda: lab.heal(rail, node)),
        (f"silence {rail} {node}", ports, lambda: lab.silence(rail, node), lambda: lab.speak(rail, node)),
        (f"unplug {rail} {node}", ports, lambda: lab.unplug(rail, node), lambda: lab.plug(rail, node)),
        (f"halfopen {rail} {node or 0} {other}", lost_by_pair(lab, rail, node or 0, other),
         lambda: lab.halfopen(rail, node or 0, other), lambda: lab.healopen(rail, node or 0, other)),
    ])


def soak(lab, job, size_bytes, seconds, seed, say):
    """The job has settled. Returns counts and the part of what was allowed that was reached, inside calls. A rail counts from
    the moment when it is whole again, although nobody can know that at once; without faults: the part before the first."""
    choice, allowed, done = random.Random(seed), Allowed(lab), []
    first = len(job.calls)
    moved_by_one = size_bytes * 2 * (lab.spec.nodes - 1) / lab.spec.nodes
    without = moved_by_one / allowed.bytes_between(0.0, median(job.calls[-_USUAL:]))
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        turn = time.monotonic()
        name, ports, do, undo = _faults(lab, choice)
        allowed.change(ports, True, time.monotonic())
        do()
        time.sleep(choice.uniform(0.2, 0.7))
        undo()
        allowed.change(ports, False, time.monotonic())
        done.append(name)
        say(f"{len(done)}: {name}, {len(job.calls) - first} calls")
        time.sleep(max(0.0, turn + _EVERY - time.monotonic()))
    job.more(2)
    calls = job.calls[first + 1:-1]
    moved = moved_by_one * len(calls)
    return {"seconds": seconds, "seed": seed, "faults": len(done), "calls": len(calls),
            "longest_ms": 1e3 * max(call.end - call.start for call in calls),
            "without_faults": without,
            "part": moved / sum(allowed.bytes_between(call.start, call.end) for call in calls)}
