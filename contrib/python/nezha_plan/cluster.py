# SPDX-License-Identifier: BSD-3-Clause
"""A cluster as the model sees it: every node alike. Rates in bytes of payload per second, times in seconds, sizes in bytes."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Rail:
    name: str
    rate: float  # payload in one direction, what headers take already off
    latency: float  # from a process on one node into one on another under the same switch
    message: float  # what a rank's processor is busy with for one message, sent and received
    byte: float  # likewise for one byte
    device: str = ""  # its PCIe device, '' when that is no limit
    burst: int = 0  # bytes that pass at once before the rate limits
    contention: float = 1.0  # its bytes take so many times longer in calls that other rails carry, too
    overlap: float = 1.0  # and so many times longer as long as another one is busy
    trunk: bool = True  # False: carries only what an aggregator reduces


@dataclasses.dataclass(frozen=True)
class Level:
    """Groups of nodes below one stage of switches, and what leaves such a group."""

    nodes: int
    oversubscription: float  # rate of the nodes of a group over that of the group's uplinks


@dataclasses.dataclass(frozen=True)
class Switch:
    """Of each rail's network; levels from the smallest groups up."""

    kind: str = "single"
    levels: tuple = ()
    latency: float = 0.0  # of one more switch on the way; a way out of a group has two


@dataclasses.dataclass(frozen=True)
class Cpu:
    call: float = 0.0  # of a call, whatever it does
    fold: float = 0.0  # of reducing one byte
    piece: float = 0.0  # of one more block in a message
    cores: int = 0  # of a machine; 0: one for each rank
    machines: int = 0  # that the nodes are emulated on; 0: each is one
    rail_threads: bool = False  # each rail's bytes are work for a core of its own
    split: float = 0.0  # of one message that several rails share
    cache: int = 0  # vectors up to so many bytes stay in it; 0: no limit
    beyond: float = 1.0  # a byte beyond takes so many times longer


@dataclasses.dataclass(frozen=True)
class Local:
    """The memory that ranks of one node share."""

    rate: float  # at which a rank copies
    latency: float  # until a rank sees what another one has written


@dataclasses.dataclass(frozen=True)
class Aggregator:
    """Reduces in the network. host: processes on nodes of their own, each with a node's rails. switch: the switches do it, at the rate of
    every port."""

    kind: str
    count: int
    rate: float  # of one; 0: that of the rails
    latency: float  # of one way through it
    rails: tuple  # names; (): all


@dataclasses.dataclass(frozen=True)
class Cluster:
    nodes: int
    ranks_per_node: int
    rails: tuple
    devices: dict  # {name: bytes per second}
    switch: Switch
    cpu: Cpu
    local: Local
    aggregators: Aggregator | None = None
    rest: float = 0.0  # between two calls, in which bursts are let through again; 0: so long that each call has a whole one
    rest_byte: float = 0.0  # and so much longer for each byte of the vector, which a processor works on between calls
    pipelined: bool = True  # False: the ring's blocks are handed on whole, as by other systems
    corrections: object = None  # what the model was off by where it was measured (corrections.Corrections)

    @property
    def ranks(self):
        return self.nodes * self.ranks_per_node

    @property
    def trunk(self):
        """The rails that ranks send to each other by."""
        return tuple(rail for rail in self.rails if rail.trunk)

    def replaced(self, **fields):
        return dataclasses.replace(self, **fields)
