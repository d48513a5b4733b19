# SPDX-License-Identifier: BSD-3-Clause
"""The clusters that are compared on: how many nodes with how many ranks, and what rails of what rate."""

import contextlib
import dataclasses

from nezha_lab import Lab, awake
from nezha_lab.spec import LabSpec, bits_per_second

from .collectives import ALLREDUCE, COLLECTIVES
from .errors import BenchUsage


@dataclasses.dataclass(frozen=True)
class Case:
    """rails and node_rates as the lab takes them ("1gbit", "none"; "NODE:RAIL:RATE"); ranks: on each node, or a tuple of each one's. aggregator: the
    rates of the links of one more node, on which no rank runs but nezha-aggregate; empty: there is none. own_rails: those that lead to
    it alone, and no other does; empty: all rails join all nodes. racks: into so many the nodes fall, each with such a node of its own
    beside that one, which joins them."""

    name: str
    nodes: int
    rails: tuple
    node_rates: tuple = ()
    ranks: object = 1
    aggregator: tuple = ()
    racks: int = 0
    own_rails: tuple = ()

    @property
    def processes(self):
        return self.nodes * self.ranks if isinstance(self.ranks, int) else sum(self.ranks)

    @property
    def services(self):
        """Nodes that run nezha-aggregate alone: of a tree the upstream one, then those of the racks."""
        return range(self.nodes, self.nodes + (1 + self.racks if self.aggregator else 0))

    def rack_of(self, node):
        return node * self.racks // self.nodes

    @contextlib.contextmanager
    def lab(self):
        """To measure on: the machine's processors stay awake while it is up."""
        links = list(zip(self.own_rails or range(len(self.rails)), self.aggregator))
        own = [f"{node}:{rail}:{rate}" for node in self.services for rail, rate in links]
        with (awake.processors(),
              Lab(self.nodes + len(self.services), list(self.rails), node_rates=[*self.node_rates, *own],
                  hubs={rail: self.nodes for rail in self.own_rails}) as lab):
            yield lab

    def limit_seconds(self, lab, size, collective=ALLREDUCE, rhythm=None):
        """Of a collective by a rank on each node, on the lab that lab() gave. rhythm: limit.Rhythm of the calls, where it is known."""
        beside = {"rhythm": rhythm} if rhythm else {}
        if collective != ALLREDUCE:
            beside["traffic"] = COLLECTIVES[collective].traffic(self.nodes)
        elif self.aggregator:
            beside["aggregators"] = list(zip(self.services, self._links()))
        return lab.limit_seconds(size, self.nodes, **beside)

    def _links(self):
        """Of each service, as limit.aggregated_seconds() has them."""
        racks = [self.rack_of(node) for node in range(self.nodes)]
        return [self.racks, *(racks.count(rack) + 1 for rack in range(self.racks))] if self.racks else [self.nodes]

    def shared_rails(self):
        """Those over which ranks reach one another."""
        return [rail for rail in range(len(self.rails)) if rail not in self.own_rails]

    def rates(self):
        """rates[node][rail] in bits per second, None where unshaped. Raises LabError for a rate that is none."""
        spec = LabSpec.make(self.nodes, list(self.rails), list(self.node_rates))
        return [[bits_per_second(rate) for rate in own] for own in spec.rates]

    def weights(self):
        """Of shared_rails(), what Gloo's shares are set to by hand: the least rate that a rail has on any node; all alike when unshaped."""
        columns = [[own[rail] for own in self.rates()] for rail in self.shared_rails()]
        if any(rate is None for column in columns for rate in column):
            return [1.0] * len(columns)
        return [min(column) / 1e6 for column in columns]

    def best_rail(self):
        weights = self.weights()
        return self.shared_rails()[weights.index(max(weights))]


PRESETS = {case.name: case for case in (
    Case("1+1", 4, ("1gbit", "1gbit")),
    Case("1+0.5", 4, ("1gbit", "500mbit")),
    Case("1+0.1", 4, ("1gbit", "100mbit")),
    Case("6x4x0.2", 6, ("200mbit",) * 4),
    Case("2x1+1", 2, ("1gbit", "1gbit")),
    Case("6x1+1", 6, ("1gbit", "1gbit")),
    Case("one-rail", 4, ("1gbit",)),
    Case("aggregator", 4, ("1gbit", "1gbit"), aggregator=("4gbit", "4gbit")),
    Case("aggregator-6", 6, ("1gbit", "1gbit"), aggregator=("4gbit", "4gbit")),
    Case("aggregator-own-network", 4, ("1gbit",) * 3, aggregator=("4gbit",), own_rails=(2,)),
    Case("aggregator-0.2", 4, ("200mbit", "200mbit"), aggregator=("800mbit", "800mbit")),
    Case("aggregator-6-0.2", 6, ("200mbit", "200mbit"), aggregator=("800mbit", "800mbit")),
    Case("aggregator-6-wide-0.2", 6, ("200mbit", "200mbit"), aggregator=("1200mbit", "1200mbit")),
    Case("aggregator-own-network-0.2", 4, ("200mbit",) * 3, aggregator=("800mbit",), own_rails=(2,)),
    Case("aggregator-4x4", 4, ("1gbit", "1gbit"), ranks=4, aggregator=("4gbit", "4gbit")),
    Case("aggregator-4x4-0.2", 4, ("200mbit", "200mbit"), ranks=4, aggregator=("800mbit", "800mbit")),
    Case("slow-aggregator", 4, ("200mbit", "200mbit"), aggregator=("200mbit", "200mbit")),
    Case("aggregator-tree", 4, ("200mbit", "200mbit"), aggregator=("800mbit", "800mbit"), racks=2),
    Case("aggregator-tree-8", 8, ("1gbit", "1gbit"), aggregator=("4gbit", "4gbit"), racks=2),
    Case("aggregator-8", 8, ("1gbit", "1gbit"), aggregator=("4gbit", "4gbit")),
    Case("aggregator-16", 16, ("1gbit", "1gbit"), aggregator=("4gbit", "4gbit")),
    Case("slow-node", 4, ("1gbit", "1gbit"), ("1:1:500mbit",)),
    Case("unshaped", 4, ("none", "none")),
    Case("unshaped-one", 4, ("none",)),
    Case("4x4", 4, ("1gbit", "1gbit"), ranks=4),
    Case("2x8", 2, ("1gbit", "1gbit"), ranks=8),
    Case("6x2", 6, ("1gbit", "1gbit"), ranks=2),
    Case("uneven", 4, ("1gbit", "1gbit"), ranks=(1, 2, 4, 5)),
    Case("4x4-unshaped", 4, ("none", "none"), ranks=4),
    Case("node-2", 1, ("none",), ranks=2),
    Case("node-4", 1, ("none",), ranks=4),
    Case("node-8", 1, ("none",), ranks=8),
)}


def presets(text):
    """'1+1,unshaped' or 'all'."""
    names = list(PRESETS) if text == "all" else text.split(",")
    for name in names:
        if name not in PRESETS:
            raise BenchUsage(f"case '{name}': {', '.join(PRESETS)} and all are allowed")
    return [PRESETS[name] for name in names]
