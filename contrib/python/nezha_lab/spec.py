# SPDX-License-Identifier: BSD-3-Clause
"""What a lab looks like: nodes, rails, rates, addresses. Pure data, checked when it is made."""

import dataclasses
import re

from .errors import LabUsage

MAX_NODES = 128
MAX_RAILS = 16
_RATE = re.compile(r"(\d+(?:\.\d+)?)(bit|kbit|mbit|gbit)")
_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


def check_name(name):
    if not _NAME.fullmatch(name):
        raise LabUsage(f"NAME '{name}': small letters, digits and '-' are allowed, at most 31, not '-' first")
    return name


def check_rate(what, rate):
    """The rate as text for tc; 'none' means unshaped."""
    text = str(rate).lower()
    if text != "none" and not (_RATE.fullmatch(text) and bits_per_second(text) >= 8):
        raise LabUsage(f"{what} '{rate}': a number with bit, kbit, mbit or gbit is allowed (500mbit), or none")
    return text


def bits_per_second(rate):
    """None for an unshaped rail."""
    if rate == "none":
        return None
    number, unit = _RATE.fullmatch(rate).groups()
    return float(number) * _UNITS[unit]


def divided(rate, by):
    """A part of a rate, as text in the same unit."""
    number, unit = _RATE.fullmatch(rate).groups()
    return f"{float(number) / by:g}{unit}"


def _index(what, value, prefix, count):
    text = str(value)
    digits = text[len(prefix):] if text.startswith(prefix) else text
    if not (digits.isascii() and digits.isdigit()) or int(digits) >= count:
        raise LabUsage(f"{what} '{value}': 0 to {count - 1} is allowed ({prefix}0 to {prefix}{count - 1} too)")
    return int(digits)


@dataclasses.dataclass
class LabSpec:
    """rates[node][rail] is what each node's port of a rail is shaped to, now. hubs[rail]: the one node that the others reach over that
    rail, while they do not reach each other; None where all reach all."""

    nodes: int
    rails: int
    rates: list
    ipv6: bool = False
    one_subnet: bool = False
    rdma: bool = False
    hubs: list = dataclasses.field(default_factory=list)

    @classmethod
    def make(cls, nodes, rails, node_rates=(), ipv6=False, one_subnet=False, rdma=False, hubs=()):
        """node_rates: {(node, rail): rate}, or a list of 'NODE:RAIL:RATE'; hubs: {rail: node}, or a list of 'RAIL:NODE'."""
        if not isinstance(nodes, int) or not 1 <= nodes <= MAX_NODES:
            raise LabUsage(f"nodes '{nodes}': 1 to {MAX_NODES} is allowed")
        if not 1 <= len(rails) <= MAX_RAILS:
            raise LabUsage(f"{len(rails)} rails: 1 to {MAX_RAILS} is allowed")
        defaults = [check_rate("rail rate", rate) for rate in rails]
        spec = cls(nodes, len(defaults), [list(defaults) for _ in range(nodes)], ipv6, one_subnet, rdma, [None] * len(defaults))
        for node, rail, rate in _node_rates(node_rates):
            spec.rates[spec.node(node)][spec.rail(rail)] = check_rate("node rate", rate)
        for rail, node in _hubs(hubs):
            spec.hubs[spec.rail(rail)] = spec.node(node)
        if not spec.shared_rails():
            raise LabUsage("every rail has a hub: over one at least the nodes have to reach one another")
        if one_subnet and hubs:
            raise LabUsage("a hub and one subnet exclude each other: rails in one subnet are ports of one switch")
        return spec

    def node(self, value):
        return _index("node", value, "n", self.nodes)

    def rail(self, value):
        return _index("rail", value, "eth", self.rails)

    def isolated(self, node, rail):
        """That port of the switch reaches the rail's hub alone."""
        return rail in range(self.rails) and self.hubs[rail] not in (None, node)

    def shared_rails(self):
        """Those over which every node reaches every other."""
        return [rail for rail, hub in enumerate(self.hubs) if hub is None]

    def own_rails(self, hub):
        """Those over which the others reach that node alone."""
        return [rail for rail, node in enumerate(self.hubs) if node == hub]

    def node_list(self, value):
        """The nodes a verb is about: all for None."""
        return list(range(self.nodes)) if value is None else [self.node(value)]

    def address(self, node, rail):
        """IPv4 address and prefix length. In one subnet the third byte tells the rails apart."""
        if self.one_subnet:
            return f"10.10.{rail}.{node + 1}", 16
        return f"10.{10 + rail}.0.{node + 1}", 24

    def address6(self, node, rail):
        if self.one_subnet:
            return f"fd00:10::{rail:x}:{node + 1:x}", 64
        return f"fd00:{10 + rail}::{node + 1:x}", 64

    def hosts(self):
        """/etc/hosts inside the nodes: a node's name is its address on the management network."""
        lines = ["127.0.0.1 localhost", "::1 localhost"]
        return "\n".join(lines + [f"{mgmt_address(n)} n{n}" for n in range(self.nodes)]) + "\n"


def mgmt_address(node):
    return f"10.9.0.{node + 1}"


def _node_rates(given):
    if isinstance(given, dict):
        return [(node, rail, rate) for (node, rail), rate in given.items()]
    return _rows(given, 3, "node rate '{}': NODE:RAIL:RATE is allowed, such as 2:1:500mbit")


def _hubs(given):
    return given.items() if isinstance(given, dict) else _rows(given, 2, "hub '{}': RAIL:NODE is allowed, such as 2:4")


def _rows(given, fields, complaint):
    rows = [entry.split(":") for entry in given]
    for entry, row in zip(given, rows):
        if len(row) != fields:
            raise LabUsage(complaint.format(entry))
    return rows
