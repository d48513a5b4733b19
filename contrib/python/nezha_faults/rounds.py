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


def one_round(lab, job, trigger, verb, rails, node=None):
    """A fault, of one node or all, and its end; None when it did not fall into a call."""
    usual = job.settle(nezha=True)
    fault = trigger.pull_inside(job, verb, rails, node)
    job.more(_CALLS_WITHOUT + 1)
    hit = [call for call in job.calls if call.start < fault < call.end]
    after = [call for call in job.calls if call.start > fault]
    result = None
    if hit and len(after) >= 3:
        reduced = median(after[1:])
        result = {"usual_ms": 1e3 * usual, "reduced_ms": 1e3 * reduced, "took_ms": 1e3 * (hit[0].end - hit[0].start),
                  "beyond_ms": 1e3 * beyond(hit[0], fault, usual, reduced),
                  "next_beyond_ms": 1e3 * (after[0].end - after[0].start - reduced)}
    back = _give_back(lab, job, trigger, verb, rails, usual, node)
    return result and {**result, **back}


def _give_back(lab, job, trigger, verb, rails, usual, node):
    def carried():
        return sum(lab.nic_bytes(0, rails[0]))
    before, seen = carried(), len(job.calls)
    back = trigger.pull(UNDONE_BY[verb], rails, node)
    while carried() - before < _FIRST_BYTES:
        if time.monotonic() - back > _PATIENCE:
            raise BenchError(f"rail {rails[0]} carried nothing within {_PATIENCE:g} s after it was back\n{excerpt(job.log())}")
        time.sleep(0.002)
    first = time.monotonic() - back
    def quick(call):
        return call.start > back and call.end - call.start <= usual / NEARLY
    job.wait(lambda calls: any(quick(call) for call in calls[seen:]), _PATIENCE, "calls were as fast as before")
    full = next(call.start for call in job.calls[seen:] if quick(call)) - back
    return {"first_bytes_ms": 1e3 * first, "full_ms": 1e3 * full}


def many(lab, job, trigger, verb, rails, count, say, node=None):
    results = []
    for attempt in range(3 * count):
        if len(results) == count:
            break
        time.sleep(random.uniform(0.2, 0.5))
        found = one_round(lab, job, trigger, verb, rails, node)
        if found:
            results.append(found)
            say(f"{verb} {len(results)} of {count}: {found['beyond_ms']:.1f} ms beyond, "
                f"back {found['first_bytes_ms']:.0f} / {found['full_ms']:.0f} ms")
    return results
