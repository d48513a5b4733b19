# SPDX-License-Identifier: BSD-3-Clause
"""What was measured between nodes that can talk: a round trip from each to each, and the rate from each to the next and back."""

import statistics

# Nodes up to which each pair has a cell of its own.
MOST = 10


def entries(cluster):
    """A dict for each lane and direction that was tried, in the order of the nodes; a value that was not measured is None."""
    rates = {}
    for node, probe in cluster.probes.items():
        for row in probe["links"]:
            rates[node, row["rail"], row["peer"], row["peer_rail"]] = row["there"]
            rates[row["peer"], row["peer_rail"], node, row["rail"]] = row["back"]
    return [{"node": node, "rail": row["rail"], "peer": row["peer"], "peer_rail": row["peer_rail"], "result": row["result"],
             "rtt_us": row["rtt_us"], "bytes_per_s": rates.get((node, row["rail"], row["peer"], row["peer_rail"]))}
            for node, probe in cluster.probes.items() for row in probe["lanes"]]


def tables(cluster):
    """[(title, columns, rows)] for people."""
    found = entries(cluster)
    rails = sorted({entry["rail"] for entry in found})
    if len(cluster.facts) > MOST:
        return [("Between nodes, least, median and most", ("rail", "round trips us", "rates Mbit/s"),
                 [(rail, _range(found, rail, _round_trip), _range(found, rail, _rate)) for rail in rails])] if found else []
    return [table for rail in rails
            for table in (_pairs(cluster, found, rail, f"{rail}: round trips in us, from the node of the row", _round_trip),
                          _pairs(cluster, found, rail, f"{rail}: rates in Mbit/s, from the node of the row", _rate)) if table]


def _round_trip(entry):
    return entry["rtt_us"]


def _rate(entry):
    return entry["bytes_per_s"] and entry["bytes_per_s"] * 8 / 1e6


def _text(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _range(found, rail, of):
    values = [of(entry) for entry in found if entry["rail"] == rail and of(entry) is not None]
    return " ".join(map(_text, (min(values), statistics.median(values), max(values)))) if values else "-"


def _pairs(cluster, found, rail, title, of):
    """None where nothing was measured."""
    cells = {(entry["node"], entry["peer"]): _text(of(entry)) if of(entry) is not None else "" if entry["result"] == "ok" else entry["result"]
             for entry in found if entry["rail"] == rail}
    if not any(of(entry) is not None for entry in found if entry["rail"] == rail):
        return None
    nodes = list(cluster.facts)
    return title, ("", *nodes), [(node, *(cells.get((node, peer), "") for peer in nodes)) for node in nodes]
