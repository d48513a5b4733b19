# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the papers' figures beside ours, for the page."""

from matplotlib import pyplot

from nezha_bench.sizes import size_text

from . import multirail, neuron, sauron
from .multirail import COLUMNS, GAINS, TABLE_I

_THEIRS, _OURS = "#1f77b4", "#ff7f0e"


_SMALL, _WHOLE = "148-byte packets", "4096-byte packets"
_COLOURS = {_SMALL: "#d62728", _WHOLE: "#2ca02c"}


def of(paper, rows, loads):
    """[(figure, caption)...]. rows: what stands in the table; loads: of sauron.loads(), or nothing."""
    if paper == sauron.PAPER:
        return _of_sauron(rows, loads)
    made = {multirail.PAPER: _of_multirail, neuron.PAPER: _of_neuron}.get(paper)
    return made() if made else []


def _of_sauron(rows, loads):
    made = []
    writes = {unit: [row for row in rows if row.what.startswith("ib_write of ") and row.what.endswith(f", {unit}")] for unit in ("GB/s", "us")}
    if all(writes.values()):
        made.append((_writes(writes), "Fig. 7: bandwidth and latency of ib_write between two hosts"))
    if loads:
        made.append((_loads(loads), "Fig. 4 and 5: throughput by load of 32 nodes with 8 accelerators of 512 Gbit/s, and the latency of C4"))
    return made


def _writes(writes):
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 4))
    for panel, (unit, own) in zip(panels, writes.items()):
        names = [row.what.removeprefix("ib_write of ").removesuffix(f", {unit}") for row in own]
        panel.plot(names, [row.theirs for row in own], color=_THEIRS, marker="o", label="paper, measured")
        panel.plot(names, [row.ours for row in own], color=_OURS, marker="x", label="ours")
        panel.set_ylabel(unit)
        panel.set_xlabel("bytes of a message")
        panel.tick_params(axis="x", rotation=50, labelsize=8)
        panel.grid(True, alpha=0.3)
        panel.legend(frameon=False, fontsize=9)
    panels[1].set_yscale("log")
    figure.tight_layout()
    return figure


def _loads(loads):
    figure, panels = pyplot.subplots(1, 3, figsize=(14, 4.2))
    for panel, pattern in zip(panels, ("C4", "C5")):
        for packets in (_SMALL, _WHOLE):
            own = loads[packets][pattern]
            panel.plot([one["load_percent"] for one in own], [one["gbps"] for one in own], marker="o", markersize=4, color=_COLOURS[packets],
                       label=f"ours, {packets}")
        panel.axhline(sauron.MOST_GBPS, color="black", linewidth=0.8, linestyle=":", label="all that is generated at 100 %")
        panel.set_title(pattern, fontsize=10)
        panel.set_ylabel("Gbit/s that arrive")
        panel.set_ylim(bottom=0)
    panels[0].axvline(70, color=_COLOURS[_SMALL], linewidth=0.9, linestyle="--", label=f"paper: {_SMALL} saturate")
    panels[0].axhline(126000, color=_COLOURS[_WHOLE], linewidth=0.9, linestyle="--", label=f"paper: most of {_WHOLE}")
    for packets, most in ((_SMALL, 58), (_WHOLE, 3.7)):
        own = loads[packets]["C4"]
        panels[2].plot([one["load_percent"] for one in own], [sum(one["inter_parts_us"].values()) for one in own], marker="o", markersize=4,
                       color=_COLOURS[packets], label=f"ours, {packets}")
        panels[2].axhline(most, color=_COLOURS[packets], linewidth=0.9, linestyle="--", label=f"paper: most of {packets}")
    panels[2].set_title("C4, latency between nodes", fontsize=10)
    panels[2].set_ylabel("us, mean")
    panels[2].set_yscale("log")
    panels[2].set_ylim(top=1000)  # room for the legend
    for panel in panels:
        panel.set_xlabel("generated, % of the accelerators' links")
        panel.grid(True, alpha=0.3)
        panel.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


def _of_multirail():
    return [(_table_i(), "Table I: average time of an allreduce on 4 nodes"), (_gains(), "Gain of a second network, from least to most")]


def _table_i():
    figure, panels = pyplot.subplots(1, len(TABLE_I), figsize=(11, 3.6))
    cluster = multirail.glex_sharp(4)
    names = [name for name, _ in COLUMNS]
    for panel, (size, theirs) in zip(panels, TABLE_I.items()):
        ours = [1e6 * multirail.with_share(cluster, size, sharp) for _, sharp in COLUMNS]
        _bars(panel, names, [(theirs, "paper", _THEIRS), (ours, "ours", _OURS)])
        panel.set_title(f"{multirail.size_words(size)}", fontsize=10)
    panels[0].set_ylabel("microseconds")
    panels[0].legend(frameon=False, fontsize=9)
    figure.tight_layout()
    return figure


def _bars(panel, names, series):
    for number, (values, label, colour) in enumerate(series):
        panel.bar([place + 0.4 * number for place in range(len(names))], values, 0.38, color=colour, label=label)
    panel.set_xticks([place + 0.2 for place in range(len(names))], names, rotation=40, ha="right", fontsize=8)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _gains():
    figure, panels = pyplot.subplots(1, len(GAINS), figsize=(9, 3.4), sharey=True)
    for panel, (pair, make) in zip(panels, multirail.PAIRS):
        for place, (nodes, (least, most, first)) in enumerate(GAINS[pair].items()):
            low, high = multirail.gains(make(nodes), first)
            panel.bar(place, most - least, 0.36, least, color=_THEIRS, label="paper" if place == 0 else None)
            panel.bar(place + 0.4, high - low, 0.36, low, color=_OURS, label="ours" if place == 0 else None)
        panel.set_xticks([place + 0.2 for place in range(len(GAINS[pair]))], [f"{nodes} nodes" for nodes in GAINS[pair]])
        panel.set_title(pair, fontsize=10)
        panel.set_ylim(0, 100)
    panels[0].set_ylabel("% faster than the better network alone")
    panels[0].legend(frameon=False, fontsize=9, loc="lower right")
    figure.tight_layout()
    return figure


def _of_neuron():
    figure, panel = pyplot.subplots(figsize=(8, 3.8))
    sizes, ranks = [1 << power for power in range(10, 27)], 16
    for name, colour in (("single_step", "#9467bd"), ("mesh", "#2ca02c"), ("halving", "#8c564b"), ("ring", _THEIRS)):
        panel.plot(sizes, [1e6 * neuron.seconds(name, ranks, size) for size in sizes], color=colour, label=name)
    until = neuron.single_step_until(ranks)
    panel.axvline(until, color="black", linewidth=0.8, linestyle="--")
    panel.set_xscale("log", base=2)
    panel.set_xticks(sizes[::2], map(size_text, sizes[::2]))
    panel.set_yscale("log")
    panel.set_xlabel("bytes of a vector")
    panel.set_ylabel("microseconds")
    panel.set_title(f"{ranks} ranks, 15 us a hop, 50 Gbit/s; the single-step mesh wins up to {until / 1000:.2f} kB", fontsize=10)
    panel.legend(frameon=False, fontsize=9)
    panel.grid(True, alpha=0.3)
    figure.tight_layout()
    return [(figure, "Steps times latency and bytes over the rate")]
