# SPDX-License-Identifier: BSD-3-Clause
"""Answers as columns and rows of text, the same for the terminal and the page."""

from nezha_bench.sizes import size_text

from . import algorithms, loads
from .aggregation import WHO
from .loads import CPU, LOCAL
from .model import LATENCY
from .units import rate_text, time_text

# Which resources stand in one column, by how their names begin.
_GROUPS = {"latency": LATENCY, "rails": "rail ", "pcie": "pcie ", "uplinks": loads.UPLINKS, "cpu": CPU, "threads": "thread of ",
           "local": LOCAL, "aggregators": WHO}


def heading(cluster):
    ranks = "" if cluster.ranks_per_node == 1 else f", {cluster.ranks_per_node} ranks each"
    rails = " + ".join(rate_text(rail.rate) for rail in cluster.rails)
    unused = "; no aggregators, which are modelled with one rank on each node" if cluster.aggregators and cluster.ranks_per_node > 1 else ""
    return f"{cluster.nodes} nodes{ranks}, {rails}{unused}"


def fitted(fit):
    """One sentence on a calibration."""
    factors = ", ".join(f"{name} x {factor:.2f}" for name, factor in fit.factors.items())
    return (f"Fitted to {len(fit.errors)} measured times: {factors}. Typical difference {100 * fit.typical:.1f} %, "
            f"largest {100 * max(abs(ratio - 1) for _, ratio in fit.errors):.1f} %: made up for "
            "at the measured sizes and in between.")


def by_algorithm(found):
    """The time of every algorithm over all rails; where one rail alone, or aggregators, do better, that is in the last column."""
    columns = ["size", *algorithms.ALL, "fastest", "margin"]
    rows = []
    for answer in found:
        times = {one.way.algorithm: one.seconds for one in answer.estimates if not one.way.rails and not one.way.aggregated}
        rows.append([size_text(answer.size), *(time_text(times[name]) if name in times else "-" for name in algorithms.ALL),
                     answer.best.way.text(), f"{answer.margin:.2f} x" if answer.margin else ""])
    return columns, rows


def busy_parts(found):
    """{kind of resource: for which part of the fastest way's time the busiest of that kind is busy, a number a size}."""
    kinds = {name: [max(_of(start, answer.best.busy), default=0.0) / answer.best.seconds for answer in found]
             for name, start in _GROUPS.items()}
    return {name: parts for name, parts in kinds.items() if any(parts)}


def of_the_fastest(found, least):
    """What the fastest way keeps busy for which part of its time. least: {size: seconds}."""
    parts = busy_parts(found)
    columns = ["size", "fastest", "takes", "of limit", *parts, "is limited by"]
    rows = []
    for number, answer in enumerate(found):
        best = answer.best
        rows.append([size_text(answer.size), best.way.text(), time_text(best.seconds), f"{100 * least[answer.size] / best.seconds:.0f} %",
                     *(f"{100 * own[number]:.0f} %" for own in parts.values()), best.limit])
    return columns, rows


def _of(start, busy):
    return [seconds for name, seconds in busy.items() if name.startswith(start)]


def of_changes(found, changed):
    """changed: {what-if: answers}. How long the fastest way takes then, and how many times as fast that is."""
    columns = ["size", "now", *(word for text in changed for word in (text, "x" + " " * list(changed).index(text)))]
    rows = []
    for number, answer in enumerate(found):
        cells = [size_text(answer.size), time_text(answer.best.seconds)]
        for other in changed.values():
            then = other[number].best.seconds
            cells += [time_text(then), f"{answer.best.seconds / then:.2f}"]
        rows.append(cells)
    return columns, rows
