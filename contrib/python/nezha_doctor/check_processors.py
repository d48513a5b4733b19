# SPDX-License-Identifier: BSD-3-Clause
"""Processors: more ranks than cores, others' load, and networks at another NUMA node than each other."""

from .findings import ADVICE, Finding, names


def check(cluster):
    crowded = [node for node, facts in cluster.facts.items() if facts["machine"]["ranks"] > facts["machine"]["cores"]]
    if crowded:
        machine = cluster.facts[crowded[0]]["machine"]
        yield Finding(ADVICE, "processors", crowded, f"{names(crowded)}: {machine['ranks']} ranks on {machine['cores']} cores",
                      "fewer ranks a node; or --mca mpi_yield_when_idle 1, without which waiting ranks keep working ones away")
    busy = [node for node, facts in cluster.facts.items() if facts["machine"]["load"] > facts["machine"]["all_cores"]]
    if busy:
        machine = cluster.facts[busy[0]]["machine"]
        yield Finding(ADVICE, "processors", busy, f"{names(busy)}: a load of {machine['load']:.1f} on {machine['all_cores']} cores before "
                      "this job has begun", "see what else runs there (top)")
    for numa, nodes in cluster.several(_numa).items():
        yield Finding(ADVICE, "processors", nodes, f"rails of {names(nodes)} are at different NUMA nodes ({numa}): memory has to cross "
                      "between them", "bind ranks near the faster network (mpirun --map-by numa)")


def _numa(facts):
    places = {name: own["numa"] for name, own in facts["interfaces"].items() if own["numa"] is not None}
    return ", ".join(f"{name}: {place}" for name, place in places.items()) if len(set(places.values())) > 1 else None
