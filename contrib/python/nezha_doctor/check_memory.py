# SPDX-License-Identifier: BSD-3-Clause
"""Memory that ranks of one node share."""

from .findings import ADVICE, PROBLEM, Finding, names


def check(cluster):
    """Which of them a node has is asked on every node; one that runs an older Nezha does not tell."""
    ways = {node: facts["memory"] for node, facts in cluster.facts.items() if "memory" in facts}
    for node, memory in ways.items():
        if memory["way"] == "none":
            yield Finding(PROBLEM, "memory", [node], f"ranks on {node} cannot share memory: {memory['why']}; they use rails or the "
                          "loopback, and Open MPI's own allreduce within the node",
                          "see that memfd_create and Unix sockets are allowed, and that the ranks of a node have one network namespace")
    copies = [node for node, memory in ways.items() if memory["way"] == "copies"]
    if copies and len(copies) < len(ways):
        yield Finding(ADVICE, "memory", copies, f"processes on {names(copies)} cannot read each other's memory, as they can elsewhere: "
                      f"{ways[copies[0]]['why']}", "nothing is slower, because vectors are copied through the shared memory by default")
