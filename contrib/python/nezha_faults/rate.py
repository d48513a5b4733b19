# SPDX-License-Identifier: BSD-3-Clause
"""A rail's rate halved, on all nodes and in the middle of a call, and doubled back, again and again: how many calls it takes
until one is nearly as fast as the rails allow by then."""

import subprocess
import time

from nezha_lab import limit, network
from nezha_lab.spec import divided

from .calls import NEARLY

_RAIL = 1
_MOST = 50  # calls that are waited for


class Shaper:
    """Holds tc ready in the switch and in all nodes: the lab's own verb takes longer than a call. As a context manager."""

    def __init__(self, lab):
        self._lab = lab

    def __enter__(self):
        self._tools = {where: subprocess.Popen([*self._lab.nsenter(where), "tc", "-batch", "-"], stdin=subprocess.PIPE, text=True)
                       for where in (None, *range(self._lab.spec.nodes))}
        return self

    def __exit__(self, *_):
        for process in self._tools.values():
            process.stdin.close()
            process.wait()

    def change(self, rail, rate):
        """Returns when it was done, a millisecond or two before it has happened everywhere."""
        for where, process in self._tools.items():
            devices = [network.interface(rail)] if where is not None else \
                      [network.port(node, rail) for node in range(self._lab.spec.nodes)]
            process.stdin.write("".join(network.shape_line(device, rate) + "\n" for device in devices))
            process.stdin.flush()
        return time.monotonic()


def calls_until(calls, change, before, after):
    """The number of the first call that reaches NEARLY of what the rails allow, from the one in which they change, which is 0;
    None when none does. before, after: what a call takes at the two limits."""
    concerned = [call for call in calls if call.end > change]
    for number, call in enumerate(concerned):
        done = min(1.0, max(0.0, change - call.start) / before)
        if NEARLY * (call.end - max(call.start, change)) <= (1.0 - done) * after:
            return number
    return None


def _one(job, shaper, rate, usual, after):
    """calls_until() one such change; _MOST where that many are not enough."""
    seen = len(job.calls)
    job.await_middle()
    change = shaper.change(_RAIL, rate)
    while True:
        found = calls_until(job.calls[seen:], change, usual, after)
        if found is not None or len(job.calls) - seen > _MOST:
            return _MOST if found is None else found
        job.more(1)


def many(lab, job, size_bytes, count, say):
    """Yields rounds with both changes each. The lab's rail has the same rate on all nodes, which it has again afterwards."""
    whole = lab.spec.rates[0][_RAIL]
    half = divided(whole, 2)
    limits = {rate: limit.allreduce_seconds(size_bytes, [[*own[:_RAIL], rate, *own[_RAIL + 1:]] for own in lab.spec.rates])
              for rate in (whole, half)}
    with Shaper(lab) as shaper:
        for number in range(1, count + 1):
            result = {"less": _one(job, shaper, half, job.settle(nezha=True), limits[half]),
                      "more": _one(job, shaper, whole, job.settle(nezha=True), limits[whole])}
            say(f"rate {number} of {count}: {result['less']} calls with {half}, {result['more']} with {whole} again")
            yield result
