# SPDX-License-Identifier: BSD-3-Clause
"""What a check gets and what it makes."""

import collections
import dataclasses

from nezha_command.ask import by_address

PROBLEM = "problem"  # Nezha is not used, or not as it could be
ADVICE = "advice"  # it works; this would make it faster, or is worth knowing

# `nodes`: those it is about; `what`: what was found and the likely cause; `do`: what to do about it.
Finding = collections.namedtuple("Finding", "severity check nodes what do")


@dataclasses.dataclass
class Cluster:
    """facts: {node: facts.gather()}; probes: {node: probe.Probe.run() with "neighbours"}, empty where there is one node."""

    facts: dict
    probes: dict = dataclasses.field(default_factory=dict)

    def lanes(self):
        """[(node, rail, peer, its rail)], each lane once."""
        order = {node: number for number, node in enumerate(self.facts)}
        seen = {(node, row["rail"], row["peer"], row["peer_rail"]) for node, probe in self.probes.items() for row in probe["lanes"]}
        once = {lane if order[lane[0]] < order[lane[2]] else (*lane[2:], *lane[:2]) for lane in seen}
        return sorted(once, key=lambda lane: (order[lane[0]], order[lane[2]], lane[1], lane[3]))

    def shared_addresses(self):
        """{address: [(node, rail)]} of those that rails of several nodes have."""
        found = collections.defaultdict(list)
        for node, facts in self.facts.items():
            for rail in by_address(facts["rails"]):
                found[rail["address"]].append((node, rail["name"]))
        return {address: places for address, places in found.items() if len({node for node, _ in places}) > 1}

    def several(self, of):
        """{value: [nodes]} of a function of a node's facts, the most frequent first; nodes where it is None are left out."""
        found = collections.defaultdict(list)
        for node, facts in self.facts.items():
            value = of(facts)
            if value is not None:
                found[value].append(node)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def names(nodes, most=6):
    nodes = list(nodes)
    return ", ".join(nodes[:most]) + (f" and {len(nodes) - most} more" if len(nodes) > most else "")


def odd_ones(found):
    """The values of several() but the most frequent: [(value, nodes)]."""
    return list(found.items())[1:]
