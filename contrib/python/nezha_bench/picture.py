# SPDX-License-Identifier: BSD-3-Clause
"""Two panels: time against size, and percentage of the computed limit against size."""

import io
import os

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot, ticker

from . import files
from .competitors import (ACOLL, ALL, GLOO, HAN, HAN_ONE, INCUMBENT, LABELS, MPICH, MPICH_ONE, NEZHA, NEZHA_BTL, NEZHA_OFI, NEZHA_ONE, NEZHA_OTHER,
                          NEZHA_RAILS, NEZHA_RDM, NEZHA_THREADS, ONE, XHC)
from .sizes import size_text
from .table import case_text

LOOKS = {NEZHA: ("#d62728", "o"), NEZHA_ONE: ("#ff9896", "v"), NEZHA_THREADS: ("#9467bd", "P"),
          NEZHA_OTHER: ("#ff7f0e", "X"), ALL: ("#1f77b4", "s"), ONE: ("#7fb3d9", "^"),
          GLOO: ("#7f7f7f", "D"), INCUMBENT: ("#1f77b4", "s"), NEZHA_RAILS: ("#e377c2", "<"),
          NEZHA_OFI: ("#8c564b", ">"), NEZHA_RDM: ("#c49c94", "+"), NEZHA_BTL: ("#bcbd22", "*"),
          HAN: ("#2ca02c", "h"), HAN_ONE: ("#98df8a", "H"), XHC: ("#17becf", "p"), ACOLL: ("#9edae5", "d"),
          MPICH: ("#bcbd22", "8"), MPICH_ONE: ("#dbdb8d", "1")}
# Below this the limit is soft: what a token bucket lets through at once is most of the message.
_FIRM_LIMIT = 512 << 10


def draw(summary, path):
    """The suffix of path says the format. Writes as files.write() does it."""
    figure, content = make(summary), io.BytesIO()
    figure.savefig(content, format=os.path.splitext(path)[1][1:].lower(), dpi=130)
    pyplot.close(figure)
    return files.write(path, content.getvalue())


def make(summary):
    """The figure, to be closed by the caller."""
    limited = any(row["limit_us"] > 0 for row in summary["sizes"])
    figure, panels = pyplot.subplots(1, 2 if limited else 1, figsize=(13 if limited else 7, 5), squeeze=False)
    _draw_times(panels[0][0], summary)
    if limited:
        _draw_of_limit(panels[0][1], summary)
    figure.suptitle(f"{summary['collective'].capitalize()}, {case_text(summary['case'])}: medians of {summary['rounds']} rounds")
    figure.tight_layout()
    return figure


def _label(summary, who):
    return LABELS[who] + (" (INVALID)" if who in summary["invalid"] else "")


def _plot(panel, summary, rows, member, factor):
    sizes = [row["size"] for row in rows]
    for who in summary["competitors"]:
        colour, marker = LOOKS[who]
        cells = [row["competitors"][who][member] for row in rows]
        panel.plot(sizes, [factor * cell["median"] for cell in cells], color=colour, marker=marker, markersize=4,
                   linewidth=2 if who == NEZHA else 1.3, label=_label(summary, who), zorder=3 if who == NEZHA else 2)
        panel.fill_between(sizes, [factor * cell["low"] for cell in cells], [factor * cell["high"] for cell in cells],
                           color=colour, alpha=0.18, linewidth=0)
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_locator(ticker.FixedLocator(sizes[::max(1, len(sizes) // 9)]))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: size_text(int(size))))
    panel.xaxis.set_minor_locator(ticker.NullLocator())
    panel.set_xlabel("message size in bytes")
    panel.grid(True, which="major", alpha=0.3)


def _draw_times(panel, summary):
    rows = summary["sizes"]
    _plot(panel, summary, rows, "us", 1.0)
    firm = [row for row in rows if row["limit_us"] > 0 and row["size"] >= _FIRM_LIMIT]
    if firm:
        panel.plot([row["size"] for row in firm], [row["limit_us"] for row in firm], color="black", linestyle="--",
                   linewidth=1, label="computed limit")
    panel.set_yscale("log")
    panel.set_ylabel(f"a call's {summary['statistic']} time in microseconds")
    panel.legend(fontsize=9)


def _draw_of_limit(panel, summary):
    rows = [row for row in summary["sizes"] if row["limit_us"] > 0 and row["size"] >= _FIRM_LIMIT]
    _plot(panel, summary, rows, "of_limit", 100.0)
    panel.axhline(100.0, color="black", linestyle="--", linewidth=1)
    panel.set_ylim(0, 108)
    panel.set_ylabel("% of the limit of all rails")
