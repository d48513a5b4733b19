# SPDX-License-Identifier: BSD-3-Clause
"""What aggregation services cost: processor time of theirs, beside the bytes of vectors that went through them.

The kernel's work for what a process sends counts as that process's: on a lab, where all nodes are of one machine, its packets' way to
their receivers too. Cycles are that time at the clock that /proc/cpuinfo has, 0 where it has none.
"""

import re
import time

MEMBER = "service_cpu_s"  # of a size's members: of all services together
AGGREGATED = "nezha_aggregated"  # bytes of a size's vectors, warm-up included, that went through them; the bench's program tells

_CLOCK = re.compile(r"^cpu MHz\s*: ([\d.]+)$", re.MULTILINE)


class Watch:
    """Processor seconds of these processes, each since the one before."""

    def __init__(self, pids):
        self._pids = pids
        self._before = self._read()

    def _read(self):
        return sum(time.clock_gettime(_clock_of(pid)) for pid in self._pids)

    def members(self):
        """Of a size; none where nothing is watched."""
        now = self._read()
        spent, self._before = now - self._before, now
        return {MEMBER: spent} if self._pids else {}


def _clock_of(pid):
    """As clock_getcpuclockid(3) makes it on Linux."""
    return ~pid << 3 | 2


def clock_hz(cpuinfo="/proc/cpuinfo"):
    """The slowest processor's."""
    with open(cpuinfo, encoding="utf-8") as file:
        return min(map(float, _CLOCK.findall(file.read())), default=0.0) * 1e6


def estimate(spent, aggregated, clients, hertz):
    """Of a size, by launch: seconds and bytes. None where nothing went through a service; else of the median launch, by seconds
    a byte, what a GiB of the vector cost, and a byte of what each client sent of it."""
    costs = sorted(seconds / count for seconds, count in zip(spent, aggregated) if seconds is not None and count)
    if not costs:
        return None
    middle = costs[len(costs) // 2]
    return {"cpu_s_per_gib": middle * (1 << 30), "cycles_per_byte_and_client": middle * hertz / clients}
