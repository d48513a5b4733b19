# SPDX-License-Identifier: BSD-3-Clause
"""An aggregation service killed in the middle of a call that goes through it and started again, again and again: what the call
took beyond what the rails need for the rest of it, and how soon calls go through the service again."""

import signal
import time

from .rounds import after_fault, await_bytes, repeat

_FIRST_BYTES = 1 << 20  # more than greeting and connecting takes, and less than a call
_PATIENCE = 60.0


def one_round(lab, node, job, service):
    """It serves, on that node, and does so when this returns. None when it did not end within a call."""
    usual = job.settle(nezha=True)
    job.await_middle()
    service.send(signal.SIGKILL)
    result = after_fault(job, time.monotonic(), usual)
    service.end()
    service.start()
    used = await_use(lab, node, job)
    return result and {**result, "used_ms": 1e3 * used}


def await_use(lab, node, job):
    """Until calls go through the service on that node; how long that was."""
    def carried():
        return sum(lab.nic_bytes(node, 0))
    return await_bytes(carried, carried() + _FIRST_BYTES, time.monotonic(), _PATIENCE, "no call went through the service", job)


def many(lab, node, job, service, count, say):
    """As rounds.repeat() has it."""
    def tell(number, found):
        say(f"service {number} of {count}: {found['beyond_ms']:.1f} ms beyond, used again after {found['used_ms']:.0f} ms")

    await_use(lab, node, job)
    yield from repeat(count, lambda: one_round(lab, node, job, service), tell)
