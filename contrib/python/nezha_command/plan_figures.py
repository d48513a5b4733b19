# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a plan's page."""

from matplotlib import pyplot, ticker

from nezha_bench.sizes import size_text
from nezha_plan import algorithms, tables

from .figures import no_formula, way_colour

_RESOURCES = {"latency": "#7f7f7f", "rails": "#1f77b4", "pcie": "#9467bd", "uplinks": "#8c564b", "cpu": "#ff7f0e", "threads": "#bcbd22",
              "local": "#e377c2", "aggregators": "#2ca02c"}
_MOST_LINES = 6


def times(plan):
    """Time by size, a line for each algorithm over all rails, and one for the fastest way of all."""
    figure, panel = pyplot.subplots(figsize=(9, 4.6))
    for name in algorithms.ALL:
        own = [(answer.size, one.seconds) for answer in plan.found for one in answer.estimates
               if (one.way.algorithm, one.way.rails, one.way.aggregated) == (name, (), 0.0)]
        if own:
            panel.plot(*zip(*own), color=way_colour(name), marker="o", markersize=3.5, linewidth=1.4, label=name)
    sizes = [answer.size for answer in plan.found]
    panel.plot(sizes, [answer.best.seconds for answer in plan.found], color="black", linewidth=5, alpha=0.16, label="fastest way")
    panel.plot(sizes, [plan.least[size] for size in sizes], color="black", linestyle="--", linewidth=1, label="rails' limit")
    panel.set_ylim(bottom=min(answer.best.seconds for answer in plan.found) / 3)
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter(ticker.FuncFormatter(_seconds))
    panel.set_ylabel("time of a call")
    _by_size(panel, sizes)
    return _with_legend(figure, panel)


def resources(plan):
    """For which part of the fastest way's time each kind of resource is busy."""
    shown = tables.busy_parts(plan.found)
    figure, panel = pyplot.subplots(figsize=(9, 3.6))
    sizes = [answer.size for answer in plan.found]
    for name, parts in shown.items():
        panel.plot(sizes, [100 * part for part in parts], color=_RESOURCES[name], marker="o", markersize=3.5, linewidth=1.6, label=name)
    panel.set_ylim(0, 104)
    panel.set_ylabel("% of the fastest way's time")
    _by_size(panel, sizes)
    return _with_legend(figure, panel)


def changes(plan):
    """How many times as fast each change makes it."""
    figure, panel = pyplot.subplots(figsize=(9, 3.6))
    sizes = [answer.size for answer in plan.found]
    for text, found in plan.changed.items():
        factors = [now.best.seconds / then.best.seconds for now, then in zip(plan.found, found)]
        panel.plot(sizes, factors, marker="o", markersize=3.5, linewidth=1.6, label=no_formula(text))
    panel.axhline(1, color="black", linewidth=0.8)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("times as fast")
    _by_size(panel, sizes)
    return _with_legend(figure, panel)


def nodes(plans):
    """Time of the fastest way by nodes, a line for each of some sizes."""
    figure, panel = pyplot.subplots(figsize=(9, 4.2))
    counts = [plan.cluster.nodes for plan in plans]
    for number in _spread(len(plans[0].found)):
        panel.plot(counts, [plan.found[number].best.seconds for plan in plans], marker="o", markersize=3.5, linewidth=1.6,
                   label=size_text(plans[0].found[number].size))
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_locator(ticker.FixedLocator(counts))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda count, _: f"{count:g}"))
    panel.xaxis.set_minor_locator(ticker.NullLocator())
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter(ticker.FuncFormatter(_seconds))
    panel.set_xlabel("nodes")
    panel.set_ylabel("time of a call")
    panel.grid(True, which="major", alpha=0.3)
    return _with_legend(figure, panel, title="bytes")


def _with_legend(figure, panel, title=None):
    panel.legend(title=title, frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    figure.tight_layout()
    return figure


def _spread(count):
    if count <= _MOST_LINES:
        return range(count)
    return [round(number * (count - 1) / (_MOST_LINES - 1)) for number in range(_MOST_LINES)]


def _by_size(panel, sizes):
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_locator(ticker.FixedLocator(sizes[::max(1, len(sizes) // 12)]))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: size_text(int(size))))
    panel.xaxis.set_minor_locator(ticker.NullLocator())
    panel.set_xlabel("message size in bytes")
    panel.grid(True, which="major", alpha=0.3)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _seconds(value, _):
    us = value * 1e6
    return f"{us:g} µs" if us < 1000 else f"{us / 1e3:g} ms" if us < 1e6 else f"{us / 1e6:g} s"
