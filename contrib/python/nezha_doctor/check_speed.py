# SPDX-License-Identifier: BSD-3-Clause
"""Links slower one way than the other, and nodes slower than the others on the same rail, as measured."""

import collections
import statistics

from .findings import PROBLEM, Finding

# A difference below this is how short measurements on busy nodes differ anyway.
_CLEAR = 0.6


def check(cluster):
    ports = _ports(cluster)
    for rail in sorted({rail for _, rail, _ in ports}):
        for way in ("sends", "receives"):
            rates = {node: rate for (node, own, direction), rate in ports.items() if own == rail and direction == way}
            yield from _slow(rail, way, rates)
    if len(cluster.facts) == 2:
        yield from _uneven(cluster)


def _ports(cluster):
    """{(node, rail, 'sends' or 'receives'): the best rate measured, bytes per second}: a slow partner does not count."""
    best = collections.defaultdict(float)
    for node, probe in cluster.probes.items():
        for row in probe["links"]:
            for rate, source, target in ((row["there"], (node, row["rail"]), (row["peer"], row["peer_rail"])),
                                         (row["back"], (row["peer"], row["peer_rail"]), (node, row["rail"]))):
                if rate:
                    best[(*source, "sends")] = max(best[(*source, "sends")], rate)
                    best[(*target, "receives")] = max(best[(*target, "receives")], rate)
    return dict(best)


def _slow(rail, way, rates):
    if len(rates) < 3:
        return
    usual = statistics.median(rates.values())
    for node, rate in rates.items():
        if rate < _CLEAR * usual:
            yield Finding(PROBLEM, "speed", [node], f"{node} {way} at {_mbit(rate)} over {rail}, the others at {_mbit(usual)}",
                          "look at the negotiated speed and duplex of both ends (ethtool), the cable, the switch port, and who else "
                          "uses it; Nezha gives that rail less to carry meanwhile")


def _uneven(cluster):
    for node, probe in cluster.probes.items():
        for row in probe["links"]:
            there, back = row["there"], row["back"]
            if there and back and min(there, back) < _CLEAR * max(there, back):
                source, target = (node, row["peer"]) if there < back else (row["peer"], node)
                yield Finding(PROBLEM, "speed", [source, target], f"{row['rail']}: {_mbit(min(there, back))} from {source} to {target}, "
                              f"{_mbit(max(there, back))} the other way", "look at the negotiated speed and duplex of both ends "
                              "(ethtool), the cable, the switch port, and who else uses it")


def _mbit(rate):
    return f"{rate * 8 / 1e6:.0f} Mbit/s"
