# SPDX-License-Identifier: BSD-3-Clause
"""One size of packets on all ends of a network, and large ones get through."""

from .findings import PROBLEM, Finding, names


def check(cluster):
    told = set()
    for a, rail_a, b, rail_b in cluster.lanes():
        one, other = _mtu(cluster, a, rail_a), _mtu(cluster, b, rail_b)
        if one and other and one != other:
            low, high = sorted(((one, a, rail_a), (other, b, rail_b)))
            if low[1:] not in told:
                told.add(low[1:])
                yield Finding(PROBLEM, "mtu", [low[1]], f"the MTU of {low[2]} on {low[1]} is {low[0]}, that of {high[2]} on {high[1]} "
                              f"{high[0]}", f"ip link set DEVICE mtu {high[0]} on {low[1]}, if the switch carries it")
    stuck = [(node, row) for node, probe in cluster.probes.items() for row in probe["lanes"]
             if row["result"] == "ok" and row["large"] != "ok"]
    for node, row in stuck:
        yield Finding(PROBLEM, "mtu", [node, row["peer"]], f"from {node} over {row['rail']} to {row['peer']} a connection is made, and "
                      f"large packets do not get through ({row['large']}): something on the way has a smaller MTU and does not say so",
                      f"compare the MTU of the switch with that of {names([node, row['peer']])}, and let ICMP through firewalls")


def _mtu(cluster, node, rail):
    device = next((entry["device"] for entry in cluster.facts[node]["rails"] if entry["name"] == rail), None)
    return cluster.facts[node]["interfaces"].get(device, {}).get("mtu")
