# SPDX-License-Identifier: BSD-3-Clause
"""Every node gets an answer from the aggregators that are named, and has lanes to them: else no rank uses them."""

from nezha_command.ask import aggregator_trouble, by_address

from .check_pairs import aggregators_own
from .findings import ADVICE, PROBLEM, Finding, names


def check(cluster):
    for (service, trouble), nodes in _by_trouble(cluster).items():
        yield Finding(PROBLEM, "aggregators", nodes, f"aggregator {service} is of no use to a job with {names(nodes)}: "
                      f"{trouble}",
                      "start nezha-aggregate there, let its port and its rails through the firewall, and give the nodes and it the same "
                      "key file (coll_nezha_aggregator_key)")
    own = aggregators_own(cluster)
    yield from _own_networks(cluster, own)
    for node, facts in cluster.facts.items():
        for service in facts["aggregators"]:
            apart = any((node, rail) in own for rail in service["over"])
            if not aggregator_trouble(service) and not apart and service["lanes"] < len(by_address(facts["rails"])):
                yield Finding(ADVICE, "aggregators", [node], f"{node} has {len(by_address(facts['rails']))} rails, but only "
                              f"{service['lanes']} of them in networks of aggregator {service['name']} on {service['node']}",
                              "give the aggregator an interface in each network")
    yield from _different_ones(cluster)
    for _, nodes in cluster.several(lambda facts: facts["aggregator_share"] == "0" and bool(facts["aggregators"]) or None).items():
        yield Finding(ADVICE, "aggregators", nodes, f"on {names(nodes)}: aggregators are named, and coll_nezha_aggregator_share is 0: "
                      "nothing goes through them", "leave it at auto")


def _own_networks(cluster, own):
    for rail in sorted({rail for _, rail in own}):
        nodes = [node for node in cluster.facts if (node, rail) in own]
        yield Finding(ADVICE, "aggregators", nodes, f"on {names(nodes)}: {rail} leads to an aggregator and to no other node; ranks reach "
                      "one another over the other rails, and a part of large vectors goes to the aggregator over this one",
                      "nothing, if it is a network of the aggregator's own; else look at the switch, its VLANs and firewalls")


def _different_ones(cluster):
    """Those that share no sums, in the same place of the parameter. Aggregators of racks share them by their upstream one."""
    for place in range(max((len(facts["aggregators"]) for facts in cluster.facts.values()), default=0)):
        found = cluster.several(lambda facts, place=place: _service(facts["aggregators"], place))
        if len({service for service, _ in found}) > 1:
            whose = "; ".join(f"{text} by {names(nodes)}" for (_, text), nodes in found.items())
            yield Finding(PROBLEM, "aggregators", list(cluster.facts), f"place {place + 1} of coll_nezha_aggregators has aggregators that "
                          f"share no sums, and nothing goes through them: {whose}",
                          "name the same one on all nodes or, on each, that of its rack, all of which have the same upstream aggregator "
                          "(nezha-aggregate --upstream)")


def _service(aggregators, place):
    """(what is the same for aggregators that share sums, text) of the one in that place; None: it did not answer."""
    if place >= len(aggregators):
        return "", "none"
    service = aggregators[place]
    upstream = f" under {service['upstream']}" if service["upstream"] else ""
    return (service["service"], f"{service['name']} on {service['node']}{upstream}") if service["service"] else None


def _by_trouble(cluster):
    """{(aggregator, why it cannot be used): [nodes]}"""
    found = {}
    for node, facts in cluster.facts.items():
        for service in facts["aggregators"]:
            trouble = aggregator_trouble(service)
            if trouble:
                found.setdefault((service["name"], trouble), []).append(node)
    return found
