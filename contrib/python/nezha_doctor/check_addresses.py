# SPDX-License-Identifier: BSD-3-Clause
"""An address belongs to one node: those of container bridges are often the same on all, and lead a node to itself."""

from .findings import PROBLEM, Finding, names


def check(cluster):
    for address, places in cluster.shared_addresses().items():
        nodes, rails = [node for node, _ in places], sorted({rail for _, rail in places})
        devices = ", ".join(sorted({rail.partition("/")[2] or rail for rail in rails}))
        yield Finding(PROBLEM, "addresses", nodes, f"{names(nodes)} have the same address {address} ({names(rails)}), so a connection to "
                      "it ends at the wrong node or at the node itself", f"leave it out where it is a bridge of containers or of virtual "
                      f"machines (coll_nezha_rail_exclude {devices}), else give each node an address of its own")
