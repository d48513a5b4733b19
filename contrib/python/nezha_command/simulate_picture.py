# SPDX-License-Identifier: BSD-3-Clause
"""Throughput by load inside nodes and between them, and of what latencies consist, as the paper's figures 5 and 9 to 16 show it."""

import io
import os

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

from nezha_bench import files

_COLOURS = ("#d62728", "#ff7f0e", "#2ca02c", "#1f77b4", "#9467bd", "#8c564b", "#e377c2")
_PART_COLOURS = ("#7f7f7f", "#d62728", "#ff7f0e", "#1f77b4", "#9467bd", "#2ca02c", "#17becf")


def draw(found, path):
    """The suffix of path says the format. Writes as files.write() does it."""
    figure, panels = pyplot.subplots(1, 3, figsize=(17, 5))
    for panel, member, title in ((panels[0], "intra_gbps", "inside nodes"), (panels[1], "inter_gbps", "between nodes")):
        _throughput(panel, found["patterns"], member, title)
    _latency(panels[2], {name: results for name, results in found["patterns"].items() if results[0]["inter_messages"]})
    figure.tight_layout()
    content = io.BytesIO()
    figure.savefig(content, format=os.path.splitext(path)[1][1:].lower(), dpi=130)
    pyplot.close(figure)
    return files.write(path, content.getvalue())


def _throughput(panel, patterns, member, title):
    for number, (name, results) in enumerate(patterns.items()):
        panel.plot([result["load_percent"] for result in results], [result[member] for result in results], marker="o", markersize=4,
                   color=_COLOURS[number % len(_COLOURS)], label=name)
    panel.set_title(title)
    panel.set_xlabel("generated, % of the accelerators' links")
    panel.set_ylabel("Gbit/s that arrive")
    panel.set_xlim(0, 102)
    panel.set_ylim(bottom=0)
    panel.grid(True, alpha=0.3)
    panel.legend(frameon=False)


def _latency(panel, patterns):
    """A group of bars for each load, in it one for each pattern."""
    panel.set_title("latency between nodes")
    panel.set_xlabel("generated, % of the accelerators' links")
    panel.set_ylabel("us, mean")
    if not patterns:
        return
    loads = [result["load_percent"] for result in next(iter(patterns.values()))]
    width = 0.8 / len(patterns)
    for place, (name, results) in enumerate(patterns.items()):
        where = [number + (place + 0.5) * width - 0.4 for number in range(len(loads))]
        below = [0.0] * len(loads)
        for colour, part in zip(_PART_COLOURS, results[0]["inter_parts_us"]):
            heights = [result["inter_parts_us"][part] for result in results]
            panel.bar(where, heights, 0.9 * width, bottom=below, color=colour, label=part if place == 0 else None)
            below = [one + other for one, other in zip(below, heights)]
        panel.text(where[-1], below[-1], f" {name}", rotation=90, fontsize=7, ha="center", va="bottom")
    panel.set_xticks(range(len(loads)), [f"{load:g}" for load in loads])
    panel.legend(frameon=False, fontsize=8)
