# SPDX-License-Identifier: BSD-3-Clause
"""An aggregation service killed in the middle of a call that goes through it and started again, again and again: what the call
took beyond what the rails need for the rest of it, and how soon calls go through the service again."""

import random
import signal
import time

from nezha_bench.errors import BenchError
from nezha_bench.excerpt import excerpt

from .calls import median
from .rounds import beyond

_CALLS_WITHOUT = 6
_FIRST_BYTES = 1 << 20  # more than greeting and connecting takes, and less than a call
_PATIENCE = 60.0


def one_round(lab, node, job, service):
    """It serves, on that node, and does so when this returns. None when it did not end within a call."""
    usual = job.settle(nezha=True)
    job.await_middle()
    service.send(signal.SIGKILL)
    killed = time.monotonic()
    job.more(_CALLS_WITHOUT + 1)
    hit = [call for call in job.calls if call.start < killed < call.end]
    after = [call for call in job.calls if call.start > killed]
    result = None
    if hit and len(after) >= 3:
        reduced = median(after[1:])
        result = {"usual_ms": 1e3 * usual, "reduced_ms": 1e3 * reduced, "took_ms": 1e3 * (hit[0].end - hit[0].start),
                  "beyond_ms": 1e3 * beyond(hit[0], killed, usual, reduced),
                  "next_beyond_ms": 1e3 * (after[0].end - after[0].start - reduced)}
    service.end()
    service.start()
    used = await_use(lab, node, job)
    return result and {**result, "used_ms": 1e3 * used}


def await_use(lab, node, job):
    """Until calls go through the service on that node; how long that was."""
    def carried():
        return sum(lab.nic_bytes(node, 0))
    before, began = carried(), time.monotonic()
    while carried() - before < _FIRST_BYTES:
        if time.monotonic() - began > _PATIENCE:
            raise BenchError(f"no call went through the service within {_PATIENCE:g} s\n{excerpt(job.log())}")
        time.sleep(0.002)
    return time.monotonic() - began


def many(lab, node, job, service, count, say):
    results = []
    await_use(lab, node, job)
    for _ in range(3 * count):
        if len(results) == count:
            break
        time.sleep(random.uniform(0.2, 0.5))
        found = one_round(lab, node, job, service)
        if found:
            results.append(found)
            say(f"service {len(results)} of {count}: {found['beyond_ms']:.1f} ms beyond, used again after {found['used_ms']:.0f} ms")
    return results
