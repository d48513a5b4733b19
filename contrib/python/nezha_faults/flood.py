# SPDX-License-Identifier: BSD-3-Clause
"""Strangers who connect to a rank's listener, say something wrong and go, so many a second, while the job goes on. They
come from the node itself: over a rail their packets alone would take some per cent of it."""

import json
import statistics
import subprocess

from nezha_bench.errors import BenchError

from .calls import median

_LISTENING = "0A"
_CALLS = 12


def listening_port(lab, node, rail):
    """Of the rank on that node. /proc/net/tcp has addresses as the processor reads them."""
    address = "".join(f"{int(byte):02X}" for byte in reversed(lab.spec.address(node, rail)[0].split(".")))
    table = lab.exec(node, ["cat", "/proc/net/tcp"], check=True, capture_output=True, text=True).stdout
    for line in table.splitlines()[1:]:
        local, _, state = line.split()[1:4]
        if state == _LISTENING and local.startswith(address + ":"):
            return int(local.partition(":")[2], 16)
    raise BenchError(f"no rank on n{node} listens on eth{rail}")


def flood(lab, job, program, rate, pairs, say):
    """Calls with and without the flood, in turns: median of the ratios of their throughput, and what came."""
    target = [lab.spec.address(0, 0)[0], str(listening_port(lab, 0, 0))]
    ratios, came = [], []
    for number in range(pairs):
        without = median(job.more(_CALLS))
        stranger = subprocess.Popen([*lab.nsenter(0), program, *target, str(rate), "60"], stdout=subprocess.PIPE, text=True)
        try:
            job.more(2)
            beside = median(job.more(_CALLS))
        finally:
            stranger.terminate()
            counts = json.loads(stranger.communicate()[0])
        ratios.append(without / beside)
        came.append(counts["closed"] / counts["seconds"])
        say(f"flood of {rate} a second, {number + 1} of {pairs}: throughput {100 * ratios[-1]:.1f} %, {came[-1]:.0f} a second held off")
    return {"asked": rate, "held_off_per_second": statistics.median(came), "throughput": statistics.median(ratios),
            "ratios": ratios}
