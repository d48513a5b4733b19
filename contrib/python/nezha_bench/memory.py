# SPDX-License-Identifier: BSD-3-Clause
"""What a competitor's processes hold: most resident memory, and what the kernel holds in their TCP sockets.

Sampled in launches of their own, since looking at sockets costs time that a measured call would pay for.
"""

import re
import subprocess
import threading

from nezha_lab import Lab

from . import launch
from .competitors import ALL, NEZHA

_SAMPLE_SECONDS = 0.1
# Allocated to read, queued to write, and set aside for the socket; not the limits, which are only promises.
_SKMEM = re.compile(r"skmem:\(r(\d+),rb\d+,t\d+,tb\d+,f(\d+),w(\d+),")


def socket_bytes(listing):
    """Of the output of `ss -tmn`."""
    return sum(sum(map(int, found)) for found in _SKMEM.findall(listing))


class _Sampler(threading.Thread):
    def __init__(self, lab, nodes):
        super().__init__(daemon=True)
        self._lab, self._nodes = Lab.attach(lab.name), nodes  # one Lab object per thread
        self._over = threading.Event()
        self.most = 0

    def run(self):
        while not self._over.wait(_SAMPLE_SECONDS):
            for node in range(self._nodes):
                listing = self._lab.exec(node, ["ss", "-tmnH"], stdout=subprocess.PIPE, text=True).stdout
                self.most = max(self.most, socket_bytes(listing))

    def stop(self):
        self._over.set()
        self.join()


def measure(lab, launcher, competitors, deadline_seconds, progress):
    """One launch each of Nezha and Open MPI with all rails, at the largest size."""
    size = launcher.effort.sizes[-1]
    found = {"size": size, "peers": launcher.case.processes - 1, "processes": {}}
    for who in (who for who in (NEZHA, ALL) if who in competitors):
        progress.memory(who)
        found["processes"][who] = _one(lab, launcher, who, deadline_seconds, size)
    if len(found["processes"]) == 2:
        own, base = found["processes"][NEZHA], found["processes"][ALL]
        found["beyond_kib"] = sum(own[part] - base[part] for part in ("peak_kib", "socket_kib"))
    return found


def _one(lab, launcher, who, deadline_seconds, size):
    sampler = _Sampler(lab, launcher.case.nodes)
    sampler.start()
    try:
        done = launch.run(lab, launcher, who, deadline_seconds)
    finally:
        sampler.stop()
    return {"peak_kib": done.sizes[size]["peak_kib"], "socket_kib": sampler.most // 1024}
