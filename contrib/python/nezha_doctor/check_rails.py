# SPDX-License-Identifier: BSD-3-Clause
"""Each node has rails, those that were named, and as many as the others."""

from .findings import PROBLEM, Finding, names, odd_ones


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
    counts = cluster.several(lambda facts: len(facts["rails"]) or None)
    for count, nodes in odd_ones(counts):
        usual = next(iter(counts))
        for node in nodes if count < usual else ():
            reason = _left_out(cluster.facts[node])
            yield Finding(PROBLEM, "rails", [node], f"{node} has {count} of the {usual} rails that the others have; left out there: "
                          f"{reason or 'nothing, the interface is not there'}",
                          "plug in or configure what is missing, or name the rails that all nodes have")
