# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of rails that cannot talk, and the likely reason: of what failed together one thing is said."""

import collections

from nezha_command.ask import aggregator_trouble, by_address

from .facts import NOBODY
from .findings import PROBLEM, Finding, names
from .peers import tried_by
from .probe import ANSWERED_BY

# What a connection from a to b came to; `ab` and `ba` by both ends.
Pair = collections.namedtuple("Pair", "a rail_a b rail_b ab ba")


def check(cluster):
    for node, probe in cluster.probes.items():
        for rail, error in probe["listen"].items():
            yield Finding(PROBLEM, "pairs", [node], f"{node} cannot listen on {rail}: {error}",
                          "run it again; if it stays, another program holds the port or the address is gone")
    yield from _no_lane(cluster)
    shared = {place for places in cluster.shared_addresses().values() for place in places}  # check_addresses tells of these
    own = aggregators_own(cluster)  # check_aggregators tells of these
    failed = [pair for pair in pairs(cluster) if not _works(pair) and not shared & {*_ends(pair)} and not own >= {*_ends(pair)}]
    blamed = _whole_ports(cluster, failed)
    for (node, rail), group in blamed.items():
        yield _finding(cluster, group, [node], f"{rail} of {node}", f"none of its lanes over {rail}")
    told = {pair for group in blamed.values() for pair in group}
    for pair in failed:
        if pair not in told:
            yield _finding(cluster, [pair], [pair.a, pair.b], f"the lane {pair.a} {pair.rail_a} - {pair.b} {pair.rail_b}",
                           "this pair only")


def _no_lane(cluster):
    joined = {(a, b) for a, _, b, _ in cluster.lanes()}
    every = list(cluster.facts)
    order = {node: number for number, node in enumerate(every)}
    for a in every if cluster.probes else []:
        apart = [b for b in tried_by(every, a) if order[a] < order[b] and (a, b) not in joined
                 and all(by_address(cluster.facts[node]["rails"]) for node in (a, b))]
        if apart:
            yield Finding(PROBLEM, "pairs", [a, *apart], f"no rail of {a} can be paired with one of {names(apart)}: one side has only "
                          "IPv4 addresses and the other only IPv6", "give them addresses of one kind, see coll_nezha_ip_version")


def pairs(cluster):
    results = {(node, row["rail"], row["peer"], row["peer_rail"]): row["result"]
               for node, probe in cluster.probes.items() for row in probe["lanes"]}
    for a, rail_a, b, rail_b in cluster.lanes():
        yield Pair(a, rail_a, b, rail_b, results.get((a, rail_a, b, rail_b), "no answer"),
                   results.get((b, rail_b, a, rail_a), "no answer"))


def _works(pair):
    return pair.ab == pair.ba == "ok"


def _ends(pair):
    return (pair.a, pair.rail_a), (pair.b, pair.rail_b)


def aggregators_own(cluster):
    """{(node, rail)} of rails that lead to an aggregator which answers, and to no node."""
    found = {(node, rail) for node, facts in cluster.facts.items() for service in facts["aggregators"] if not aggregator_trouble(service)
             for rail in service["over"]}
    return found - {end for pair in pairs(cluster) if _works(pair) for end in _ends(pair)} if cluster.probes else set()


def _whole_ports(cluster, failed):
    """{(node, rail): its failed lanes} where all lanes of a node's rail fail and there are at least two of them. Where the
    whole network is silent, each node would be to blame: then the first is taken for all."""
    every, own = collections.Counter(), collections.defaultdict(list)
    for pair in pairs(cluster):
        every[pair.a, pair.rail_a] += 1
        every[pair.b, pair.rail_b] += 1
    for pair in failed:
        own[pair.a, pair.rail_a].append(pair)
        own[pair.b, pair.rail_b].append(pair)
    found, told = {}, set()
    for port in sorted(own, key=lambda port: -len(own[port])):
        rest = [pair for pair in own[port] if pair not in told]
        if every[port] > 1 and len(own[port]) == every[port] and len(rest) > 1:
            found[port] = rest
            told.update(rest)
    return found


def _finding(cluster, group, nodes, where, extent):
    pair = group[0]
    cause, do = _cause(cluster, group, nodes[0] if len(nodes) == 1 else None)
    return Finding(PROBLEM, "pairs", nodes, f"{where} cannot be used ({extent}; {pair.a} to {pair.b}: {pair.ab}, back: {pair.ba}): "
                   f"{cause}", do)


def _cause(cluster, group, blamed):
    pair = group[0]
    errors = {pair.ab, pair.ba}
    wrong = _wrong_neighbour(cluster, pair)
    if wrong:
        return wrong
    other = next((error for error in (pair.ab, pair.ba) if error.startswith(ANSWERED_BY)), None)
    if other:
        node, peer = (pair.a, pair.b) if pair.ab == other else (pair.b, pair.a)
        return (f"what {node} connects to is not {peer} ({other})", f"look for two hosts with one address, for address translation "
                f"between {node} and {peer}, and for another program at that port; or try --port")
    if "EPERM" in errors or "EACCES" in errors:
        node = pair.a if pair.ab in ("EPERM", "EACCES") else pair.b
        return f"a firewall on {node} forbids connections that go out", _firewall(node)
    if "ECONNREFUSED" in errors:
        node = pair.b if pair.ab == "ECONNREFUSED" else pair.a
        return f"a firewall on {node} rejects connections that come in", _firewall(node)
    if "ENETUNREACH" in errors:
        node = pair.a if pair.ab == "ENETUNREACH" else pair.b
        return f"{node} has no route there", f"ip route on {node}: the rails' networks have to reach each other"
    if "ok" in errors:
        node = pair.b if pair.ab != "ok" else pair.a
        return f"a firewall on {node} drops connections that come in", _firewall(node)
    node = blamed or pair.b
    if blamed or _silent(cluster, pair):
        proof = f"{node} does not even answer ARP" if _silent(cluster, pair) else "nothing gets through in either direction"
        return (f"{proof}: its switch port, cable or VLAN is not that of the others, two networks that are not connected have the same "
                "addresses, or a firewall drops everything", "look at that port of the switch and its VLAN, then at firewalls (nft "
                "list ruleset), or leave the interface out by coll_nezha_rail_exclude")
    return f"packets vanish: a firewall on {node} or between the nodes drops them, or a route leads astray", _firewall(node)


def _firewall(node):
    return (f"on {node} let these networks through (nft list ruleset; iptables -L), or set coll_nezha_port_range LOW-HIGH and open "
            "those TCP ports")


def _address(cluster, node, rail):
    return next((entry for entry in cluster.facts[node]["rails"] if entry["name"] == rail), None)


def _wrong_neighbour(cluster, pair):
    """A neighbour entry that names another device than the peer has."""
    for node, peer, rail in ((pair.a, pair.b, pair.rail_b), (pair.b, pair.a, pair.rail_a)):
        there = _address(cluster, peer, rail)
        found = cluster.probes.get(node, {}).get("neighbours", {}).get(there["address"] if there else None)
        true = cluster.facts[peer]["interfaces"].get(there["device"], {}).get("mac") if there else None
        if found and true and found not in (true, NOBODY):
            return (f"{node} sends to the wrong hardware address ({found}; {peer} has {true}), so what it sends vanishes and the way "
                    "back works", f"on {node}: ip neigh del {there['address']} dev DEVICE; look for static entries, or two hosts "
                    "with one address")
    return None


def _silent(cluster, pair):
    a, b = _address(cluster, pair.a, pair.rail_a), _address(cluster, pair.b, pair.rail_b)
    seen = [cluster.probes.get(pair.a, {}).get("neighbours", {}).get(b and b["address"]),
            cluster.probes.get(pair.b, {}).get("neighbours", {}).get(a and a["address"])]
    return NOBODY in seen
