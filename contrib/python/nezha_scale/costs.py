# SPDX-License-Identifier: BSD-3-Clause
"""Costs as functions of what they depend on, from points that were measured: straight lines through medians."""

import dataclasses
import statistics


# Figures of the probe that are compared with and without the component.
ADDED = ("sockets", "init_ms", "wiring_ms", "wiring_cpu_ms", "start_kib", "wired_kib", "worked_kib", "slab_kib")


@dataclasses.dataclass(frozen=True)
class Line:
    """each * x + fixed"""

    fixed: float
    each: float

    def at(self, x):
        return self.fixed + self.each * x


def line_through(points):
    """The line of least squares through [(x, y)...]; through the origin where there is one x only."""
    xs, ys = zip(*points)
    if len(set(xs)) == 1:
        return Line(0.0, statistics.fmean(ys) / xs[0])
    found = statistics.linear_regression(xs, ys)
    return Line(found.intercept, found.slope)


def difference(runs, name, ranks, rails):
    """What the component adds to one figure: median with it less median without, of the runs of one size."""
    values = {nezha: [run[name] for run in runs if (run["ranks"], run["rails"], run["nezha"]) == (ranks, rails, nezha)]
              for nezha in (True, False)}
    return statistics.median(values[True]) - statistics.median(values[False])


MESH_PEERS = 32  # coll_nezha_mesh_peers


def neighbours(size, position):
    """Positions that have lanes to this one in a team of that size: as components/alg/neighbours.cc."""
    if size <= MESH_PEERS + 1:
        return set(range(size)) - {position}
    found, distance = set(), size
    while distance > 1:
        distance = (distance + 1) // 2
        found |= {(position + distance) % size, (position - distance) % size}
    exchanges = size.bit_length() - 1
    extra = size - (1 << exchanges)  # the first positions pair up, and the odd one of a pair works for both
    if position < 2 * extra:
        found.add(position ^ 1)
    if position >= 2 * extra or position % 2:
        index = position // 2 if position < 2 * extra else position - extra
        partners = (index ^ 1 << step for step in range(exchanges))
        found |= {2 * partner + 1 if partner < extra else partner + extra for partner in partners}
    return found - {position}


def lanes_of(ranks, rails, nodes):
    """Of one rank in a job spread evenly over the nodes, in the mean: one to each neighbour on its node, `rails` to each
    elsewhere, counterparts on other nodes among them."""
    here = max(1, ranks // nodes)
    nodes, lanes = ranks // here, 0
    for position in range(ranks):
        needed = neighbours(ranks, position)
        if here > 1:
            needed |= {node * here + position % here for node in neighbours(nodes, position // here)}
        lanes += sum(1 if other // here == position // here else rails for other in needed)
    return round(lanes / ranks)


def points(runs, nodes):
    """One row per number of ranks and rails: what the component adds, and the lanes of a rank that it adds it for."""
    rows = []
    for ranks, rails in sorted({(run["ranks"], run["rails"]) for run in runs}):
        row = {name: difference(runs, name, ranks, rails) for name in ADDED}
        ours = [run for run in runs if (run["ranks"], run["rails"], run["nezha"]) == (ranks, rails, True)]
        agreement = statistics.median(run["first_us"] - run["second_us"] for run in ours)
        rows.append({"ranks": ranks, "rails": rails, "lanes": lanes_of(ranks, rails, nodes), **row, "agreement_us": agreement})
    return rows


def functions(rows):
    """The lines that extrapolation goes by."""
    return {"wired_kib": line_through([(row["lanes"], row["wired_kib"]) for row in rows]),
            "worked_kib": line_through([(row["lanes"], row["worked_kib"]) for row in rows]),
            "wiring_cpu_ms": line_through([(row["lanes"], row["wiring_cpu_ms"]) for row in rows]),
            "slab_kib": line_through([(row["lanes"] * row["ranks"], row["slab_kib"]) for row in rows])}


def extrapolated(lines, ranks, rails):
    """A rank of a job with one rank a node in which all talk to all."""
    lanes = lanes_of(ranks, rails, ranks)
    return {"ranks": ranks, "rails": rails, "lanes": lanes, "wired_mib": lines["wired_kib"].at(lanes) / 1024,
            "worked_mib": lines["worked_kib"].at(lanes) / 1024, "wiring_cpu_s": lines["wiring_cpu_ms"].at(lanes) / 1000,
            "kernel_mib": lines["slab_kib"].each * lanes / 1024}
