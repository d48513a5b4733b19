# SPDX-License-Identifier: BSD-3-Clause
"""Each node has rails, those that were named, and as many as the others."""

from .findings import PROBLEM, Finding, names


def check(cluster):
    for entry, nodes in cluster.several(lambda facts: tuple(entry["reason"] for entry in facts["trouble"]) or None).items():
        yield Finding(PROBLEM, "rails", nodes, f"on {names(nodes)}: coll_nezha_{'; coll_nezha_'.join(entry)}; the default is used",
                      "correct the parameter")
    for words, nodes in cluster.several(lambda facts: tuple(facts["unknown"]) or None).items():
        there = cluster.facts[nodes[0]]["available"]
        yield Finding(PROBLEM, "rails", nodes, f"{names(words)} is named as a rail and {names(nodes)} has no such interface; there is "
                      f"{names(there) or 'nothing'}", "name interfaces by blocks of addresses (10.1.0.0/16) where nodes call "
                      "them differently")
    for node, facts in cluster.facts.items():
        if not facts["rails"]:
            yield Finding(PROBLEM, "rails", [node], f"{node} has no rail, so communicators with it use Open MPI's own allreduce; left "
                          f"out: {_left_out(facts) or 'nothing'}", "give it a network, or name one by coll_nezha_rail_include")
    yield from _fewer(cluster)


def _left_out(facts):
    return "; ".join(f"{entry['name']} ({entry['reason']})" for entry in facts["left_out"] if entry["reason"] != "loopback")


def _fewer(cluster):
    """Nodes with fewer rails than most nodes, of which as many as others count as fewer; and those with an unplugged interface
    that is a rail elsewhere, where the node has fewer rails."""
    counts = cluster.several(lambda facts: len(facts["rails"]) or None)
    if not counts:
        return
    usual, most = max(counts, key=lambda count: (len(counts[count]), count)), max(counts)
    devices = {rail["device"] for facts in cluster.facts.values() for rail in facts["rails"]}
    for count, nodes in counts.items():
        for node in nodes:
            unplugged = any(entry["name"] in devices and "no carrier" in entry["reason"] for entry in cluster.facts[node]["left_out"])
            whole = usual if count < usual else most
            if count == whole or not (count < usual or unplugged):
                continue
            reason = _left_out(cluster.facts[node])
            yield Finding(PROBLEM, "rails", [node], f"{node} has {count} of the {whole} rails that {names(counts[whole])} "
                          f"{'have' if len(counts[whole]) > 1 else 'has'}; left out there: {reason or 'nothing, the interface is not there'}",
                          "plug in or configure what is missing, or name the rails that all nodes have")
