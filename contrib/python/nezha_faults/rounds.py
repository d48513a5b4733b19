# SPDX-License-Identifier: BSD-3-Clause
"""Rails lost in the middle of a call and given back, again and again: what the call took beyond what the remaining rails
need, and how soon a rail that is back carries its part."""

import random
import time

from nezha_bench.errors import BenchError
from nezha_bench.excerpt import excerpt

from .calls import NEARLY, median
from .trigger import UNDONE_BY

_CALLS_WITHOUT = 6
_FIRST_BYTES = 64 * 1024  # more than connecting and asking takes
_PATIENCE = 30.0


def beyond(call, fault, usual, reduced):
    """Seconds: what was left of the call when the fault came would have taken `reduced`'s pace."""
    left = max(0.0, 1.0 - (fault - call.start) / usual)
    return call.end - fault - left * reduced


def after_fault(job, fault, usual):
    """What the call that a fault came in took, and those after it; None when it came in none. `usual`: seconds of a call before."""
    job.more(_CALLS_WITHOUT + 1)
    hit = [call for call in job.calls if call.start < fault < call.end]
    after = [call for call in job.calls if call.start > fault]
    if not hit or len(after) < 3:
        return None
    reduced = median(after[1:])
    return {"usual_ms": 1e3 * usual, "reduced_ms": 1e3 * reduced, "took_ms": 1e3 * (hit[0].end - hit[0].start),
            "beyond_ms": 1e3 * beyond(hit[0], fault, usual, reduced),
            "next_beyond_ms": 1e3 * (after[0].end - after[0].start - reduced)}


def await_bytes(carried, least, began, patience, trouble, job):
    """Until carried() is `least` or more; seconds since `began`. BenchError with `trouble` when it is not within `patience` seconds."""
    while carried() < least:
        if time.monotonic() - began > patience:
            raise BenchError(f"{trouble} within {patience:g} s\n{excerpt(job.log())}")
        time.sleep(0.002)
    return time.monotonic() - began


def repeat(count, attempt, tell):
    """Yields results of attempt(), which are None where a fault came in no call, until there are `count` or too many were in vain.
    BenchError where all were."""
    number = 0
    for _ in range(3 * count):
        if number == count:
            break
        time.sleep(random.uniform(0.2, 0.5))
        found = attempt()
        if found:
            number += 1
            tell(number, found)
            yield found
    if number == 0:
        raise BenchError(f"none of {3 * count} faults came in the middle of a call")


def one_round(lab, job, trigger, verb, rails, node=None):
    """A fault, of one node or all, and its end; None when it did not fall into a call."""
    usual = job.settle(nezha=True)
    result = after_fault(job, trigger.pull_inside(job, verb, rails, node), usual)
    back = _give_back(lab, job, trigger, verb, rails, usual, node)
    return result and {**result, **back}


def _give_back(lab, job, trigger, verb, rails, usual, node):
    def carried():
        return sum(lab.nic_bytes(0, rails[0]))
    before, seen = carried(), len(job.calls)
    back = trigger.pull(UNDONE_BY[verb], rails, node)
    first = await_bytes(carried, before + _FIRST_BYTES, back, _PATIENCE, f"after it was back rail {rails[0]} carried nothing", job)
    def quick(call):
        return call.start > back and call.end - call.start <= usual / NEARLY
    job.wait(lambda calls: any(quick(call) for call in calls[seen:]), _PATIENCE, "calls were as fast as before")
    full = next(call.start for call in job.calls[seen:] if quick(call)) - back
    return {"first_bytes_ms": 1e3 * first, "full_ms": 1e3 * full}


def many(lab, job, trigger, verb, rails, count, say, node=None):
    """As repeat() has it."""
    def tell(number, found):
        say(f"{verb} {number} of {count}: {found['beyond_ms']:.1f} ms beyond, "
            f"back {found['first_bytes_ms']:.0f} / {found['full_ms']:.0f} ms")

    return repeat(count, lambda: one_round(lab, job, trigger, verb, rails, node), tell)
