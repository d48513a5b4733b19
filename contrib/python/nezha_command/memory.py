# SPDX-License-Identifier: BSD-3-Clause
"""How ranks of a node share memory: the mechanism that is used, and why none that copies less is. Of an answer of ask.memory()."""

import re

USED = "two copies through a segment"
# NodeStageOptions::single_copy_from (components/node/node_stage.h) has it.
_SLOWER = "possible here, but took twice as long where it was measured"
_XPMEM = "a neighbour that dies would end the process that reads its mapping, where process_vm_readv returns an error"


def not_used(memory):
    """{mechanism: why it is not used}; empty where no memory is shared."""
    if memory["way"] == "none":
        return {}
    return {"process_vm_readv": _SLOWER if memory["way"] == "single_copy" else memory["why"], "XPMEM": _XPMEM}


def text(memory):
    return f"by {USED}" + "".join(f"; not by {mechanism}: {why}" for mechanism, why in not_used(memory).items())


def by_way(memories):
    """[([nodes], text)] of {node: its memory}, for the nodes that share memory. Reasons are alike but for numbers of processes."""
    ways = {}
    for node, memory in memories.items():
        if memory["way"] != "none":
            ways.setdefault((memory["way"], re.sub(r"\d+", "", memory.get("why") or "")), []).append(node)
    return [(nodes, text(memories[nodes[0]])) for nodes in ways.values()]
