# SPDX-License-Identifier: BSD-3-Clause
"""A plan as a table's file, nezha-table(5): for each size class the fastest way, without times, since none was measured."""

from . import answers

_VERSION = 1
_FIRST, _LAST = 2, 30  # size classes: what is smaller goes like the first of them, what is larger like the last one
_NO_LIMIT = "inf"


def document(clusters, version):
    """For each of these shapes an entry. version: of Nezha."""
    return {"rule_file_version": _VERSION, "module": "nezha", "nezha_version": version,
            "collectives": {"allreduce": [_communicator(cluster) for cluster in clusters]}}


def _communicator(cluster):
    return {"comm_size_min": cluster.ranks, "comm_size_max": cluster.ranks, "comm_nodes_min": cluster.nodes,
            "comm_nodes_max": cluster.nodes, "rules": _rules(cluster)}


def _rules(cluster):
    rules = []
    for size_class in range(_FIRST, _LAST + 1):
        way = _way(answers.answer(cluster.replaced(aggregators=None), 1 << size_class).best.way)
        low = 0 if size_class == _FIRST else 1 << size_class
        high = _NO_LIMIT if size_class == _LAST else (2 << size_class) - 1
        if rules and _same(rules[-1], way):
            rules[-1]["msg_size_max"] = high
        else:
            rules.append({"msg_size_min": low, "msg_size_max": high, **way})
    return rules


def _same(rule, way):
    return {key: rule[key] for key in ("alg", "rails") if key in rule} == way


def _way(way):
    return {"alg": way.algorithm, **({"rails": "one"} if way.rails else {})}


def measured(document):
    """Whether a table's file has something that a job or nezha tune has found out, which a plan must not replace."""
    try:
        rules = [rule for entry in document["collectives"]["allreduce"] for rule in entry["rules"]]
        return any(key in rule for rule in rules for key in ("measured", "calls", "shares"))
    except (KeyError, TypeError):
        return True
