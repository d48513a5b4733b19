# SPDX-License-Identifier: BSD-3-Clause
"""The fault verbs. Each takes effect before it returns, on traffic that is running too.

node=None means the whole rail. What a verb and its opposite do:
cut, heal          the port loses its carrier, as when a cable is pulled
silence, speak     frames vanish at the port in both directions, the carrier stays
halfopen, healopen frames from one node to one other vanish, the way back works
unplug, plug       the interface is deleted from the node, and comes back as it was
rate               the token buckets at both ends change
"""

import dataclasses
import json

from . import network, rdma, state
from .errors import LabError, LabUsage
from .spec import check_rate
from .tools import batch, run


class Faults:
    def cut(self, rail, node=None):
        self._switch("ip", "link set {} down", rail, node)

    def heal(self, rail, node=None):
        """Ends silence on the same ports too: a port that comes up forwards."""
        self._switch("ip", "link set {} up", rail, node)

    def silence(self, rail, node=None):
        self._switch("bridge", "link set dev {} state 0", rail, node)

    def speak(self, rail, node=None):
        """A cut port cannot speak, and then none of the rail does; heal ends silence too."""
        self._refuse("cut", rail, node, "heal it")
        self._switch("bridge", "link set dev {} state 3", rail, node)

    def halfopen(self, rail, source, target):
        """The source takes its own MAC address for the target's, so the switch drops its frames without flooding."""
        device = f"eth{self.spec.rail(rail)}"
        mac = json.loads(run([*self.nsenter(source), "ip", "-j", "link", "show", device]))[0]["address"]
        self._neighbour(rail, source, target, "neigh replace {} lladdr " + mac + " nud permanent dev {}")

    def healopen(self, rail, source, target):
        try:
            self._neighbour(rail, source, target, "neigh del {} dev {}")
        except LabError as error:
            if "No such file" not in str(error):
                raise
            names = f"from n{self.spec.node(source)} to n{self.spec.node(target)}"
            raise LabError(f"rail {self.spec.rail(rail)} is not half-open {names}") from None

    def unplug(self, rail, node=None):
        self._switch("ip", "link del {}", rail, node)

    def plug(self, rail, node=None):
        index = self.spec.rail(rail)
        states = self._states(index, node)
        plugged = [number for number, found in states.items() if found != "unplugged"]
        if plugged:
            raise LabError(f"rail {index} of node n{plugged[0]} is plugged in already")
        for number in states:
            batch(self.nsenter(), "ip", network.plug_lines(self.spec, number, index, self.record["holders"][number]))
            self._shape(number, index)
            batch(self.nsenter(number), "ip", network.address_lines(self.spec, number, index))
            if self.spec.rdma:
                rdma.add(number, [index], self.record["holders"][number])

    def rate(self, rail, rate, node=None):
        rate = check_rate("rate", rate)
        index, nodes = self.spec.rail(rail), self.spec.node_list(node)
        self._refuse("unplugged", index, node, "plug it")
        with state.lock():
            self.refresh()
            for number in nodes:
                self.spec.rates[number][index] = rate
            state.save({**self.record, "spec": dataclasses.asdict(self.spec)})
        for number in nodes:
            self._shape(number, index)

    def _shape(self, node, rail):
        rate = self.spec.rates[node][rail]
        batch(self.nsenter(), "tc", [network.shape_line(network.port(node, rail), rate, self.spec.rdma)])
        batch(self.nsenter(node), "tc", [network.shape_line(network.interface(rail), rate, self.spec.rdma)])

    def _switch(self, tool, line, rail, node):
        """All ports of a rail in one process, so that they change within a millisecond."""
        ports = [network.port(number, self.spec.rail(rail)) for number in self.spec.node_list(node)]
        try:
            batch(self.nsenter(), tool, [line.format(port) for port in ports])
        except LabError:
            self._refuse("unplugged", rail, node, "plug it")
            raise

    def _states(self, rail, node):
        """{node: state} of a rail's ports."""
        rows = {row[:2]: row[4] for row in self.status()}
        return {number: rows[f"n{number}", f"eth{rail}"] for number in self.spec.node_list(node)}

    def _refuse(self, unwanted, rail, node, advice):
        rail = self.spec.rail(rail)
        for number, found in self._states(rail, node).items():
            if found == unwanted:
                raise LabError(f"rail {rail} of node n{number} is {found}: {advice}")

    def _neighbour(self, rail, source, target, line):
        source, target, rail = self.spec.node(source), self.spec.node(target), self.spec.rail(rail)
        if source == target:
            raise LabUsage(f"from and to are both n{source}: two different nodes are needed")
        addresses = [self.spec.address(target, rail)[0]]
        if self.spec.ipv6:
            addresses.append(self.spec.address6(target, rail)[0])
        batch(self.nsenter(source), "ip", [line.format(address, f"eth{rail}") for address in addresses])
