# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the report, as SVG to stand within a page."""

import html
import io
import re
import statistics

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot, ticker

from nezha_bench import picture
from nezha_bench.sizes import size_text

RAILS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf")
_WAYS = {"ring": "#1f77b4", "mesh": "#2ca02c", "single_step": "#9467bd", "doubling": "#ff7f0e", "halving": "#8c564b",
         "incumbent": "#7f7f7f"}
EVENTS = {"lost": "#d62728", "suspect": "#ff9d00", "answers": "#2ca02c", "up": "#2ca02c"}
_PANELS = 6
OWN = "Open MPI's own (incumbent)"
CUT = 5  # times the median: what took longer is beyond the panel


def svg(figure, number):
    """Text stays text; identifiers differ from those of the page's other pictures. A browser shows what a marker or a bar stands for
    when the pointer is on it."""
    tips = _tips(figure)
    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": f"nezha-{number}"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    body = text.getvalue()
    body = body[body.index("<svg"):]
    for name, texts in tips.items():
        body = _with_tips(body, name, texts)
    body = re.sub(r'\bid="([^"]+)"', rf'id="p{number}-\1"', body)
    return re.sub(r'(xlink:href="#|url\(#)', rf"\1p{number}-", body)


def no_formula(text):
    """For a label: matplotlib takes what stands between dollars for a formula, and ends where it is none."""
    return text.replace("$", r"\$")


def _explain(artist, texts):
    """A text for each marker of `artist`, or the one of a bar."""
    artist.nezha_texts = texts


def _tips(figure):
    """{identifier of what is drawn: a text for each of its markers}"""
    found = {}
    for panel in figure.axes:
        for artist in panel.get_children():
            if hasattr(artist, "nezha_texts"):
                name = f"points{len(found)}"
                artist.set_gid(name)
                found[name] = artist.nezha_texts
        for line in panel.get_lines():
            if line.get_marker() in ("None", "", None):
                continue
            name = f"points{len(found)}"
            line.set_gid(name)
            label = "" if line.get_label().startswith("_") else f"{line.get_label()}: ".replace(r"\$", "$")
            found[name] = [f"{label}{_on(panel.xaxis, x)}, {_on(panel.yaxis, y)}" for x, y in zip(*line.get_data(orig=True))]
    return found


def _on(axis, value):
    if isinstance(value, str):
        return value
    formatter = axis.get_major_formatter()
    return formatter(value, None) if isinstance(formatter, ticker.FuncFormatter) else f"{value:.4g}"


def _with_tips(body, name, texts):
    """With a title in each marker, unless some of the points are not drawn, or in a bar."""
    begin = body.find(f'<g id="{name}">')
    end = body.find('<g id="', begin + 1)
    if begin >= 0 and len(texts) == 1 and "<use" not in body[begin:end]:
        inside = body.index(">", begin) + 1
        return f"{body[:inside]}<title>{html.escape(texts[0])}</title>{body[inside:]}"
    if begin < 0 or len(re.findall(r"<use [^>]*/>", body[begin:end])) != len(texts):
        return body
    left = iter(texts)
    marked = re.sub(r"(<use [^>]*)/>", lambda match: f"{match[1]}><title>{html.escape(next(left))}</title></use>", body[begin:end])
    return body[:begin] + marked + body[end:]


def bench(summary):
    return picture.make(summary)


def way_colour(way):
    return _WAYS.get(way.split()[0], "#333333")


def shares(sizes, rails):
    """Per size class a bar of what each rail carried, and above it how the calls went (the paper's Fig. 7)."""
    figure, panel = pyplot.subplots(figsize=(max(6.5, 0.62 * len(sizes) + 2), 4.2))
    positions = range(len(sizes))
    below = [0.0] * len(sizes)
    for index, name in enumerate(rails):
        parts = [100 * size.shares[index] if size.shares else 0.0 for size in sizes]
        bars = panel.bar(positions, parts, 0.78, bottom=below, color=RAILS[index % len(RAILS)], label=no_formula(name))
        for bar, part, size in zip(bars, parts, sizes):
            _explain(bar, [f"{size_text(1 << size.size_class)}: {name} carried {part:.1f} %, {size.way}"])
        below = [one + part for one, part in zip(below, parts)]
    left = [position for position, size in zip(positions, sizes) if size.is_incumbent]
    if left:
        panel.bar(left, [100.0] * len(left), 0.78, color="#eeeeee", edgecolor="#aaaaaa", hatch="///", linewidth=0.5, label=OWN)
    for position, size in zip(positions, sizes):
        words = size.way.replace(" in chunks of ", "\n").replace(" by ", "\nby ") + ("" if size.settled else "\nnever settled")
        panel.text(position, 102, no_formula(words), rotation=60, fontsize=8, va="bottom",
                   ha="left", rotation_mode="anchor", color=way_colour(size.way))
    panel.set_xticks(list(positions), [size_text(1 << size.size_class) for size in sizes])
    panel.set_ylim(0, 100)
    panel.set_xlim(-0.6, len(sizes) - 0.4)
    panel.set_xlabel("message size in bytes, from")
    panel.set_ylabel("% of the bytes sent")
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)
    figure.tight_layout()
    return figure


def thinned(marks, step_ms):
    """Of `marks` of traffic() the first of each kind in each step: more lines are not seen, and a picture of 100000 is not drawn."""
    first = {}
    for mark in marks:
        first.setdefault((int(mark[0] * 1e3 // step_ms), mark[1]), mark)
    return list(first.values())


def traffic(rails, step_ms, seconds, rates, marks):
    """Rates over time (the paper's Fig. 6). marks: (seconds, event, number)."""
    figure, panels = pyplot.subplots(len(rails), 1, figsize=(10, 1.2 + 1.55 * len(rails)), sharex=True, sharey=True,
                                     squeeze=False)
    for index, name in enumerate(rails):
        panel = panels[index][0]
        panel.fill_between(seconds, rates[index], step="mid", color=RAILS[index % len(RAILS)], alpha=0.75, linewidth=0)
        panel.set_ylabel(f"{no_formula(name)}\nMbit/s", fontsize=9)
        panel.grid(True, alpha=0.3)
        for when, event, _ in marks:
            panel.axvline(when, color=EVENTS.get(event, "black"), linewidth=1.2, alpha=0.9)
    panels[0][0].set_ylim(bottom=0)
    panels[0][0].set_xlim(seconds[0], seconds[-1])
    for when, event, number in _apart(marks, seconds):
        panels[0][0].annotate(str(number), (when, 1.02), xycoords=("data", "axes fraction"), ha="center", fontsize=8,
                              color=EVENTS.get(event, "black"), annotation_clip=False)
    panels[-1][0].set_xlabel(f"seconds since the job's start, in steps of {step_ms:g} ms")
    figure.tight_layout()
    return figure


def _apart(marks, seconds):
    """Marks whose numbers have room; of those at one moment the first."""
    room, last = (seconds[-1] - seconds[0]) / 60, None
    for mark in marks:
        if last is None or mark[0] - last >= room:
            last = mark[0]
            yield mark


def convergence(sizes, limits):
    """Per size class the duration of each of its first calls, coloured by how it was carried. limits: {size class: the least
    that the rails allow, us}, drawn as a dashed line."""
    shown = _spread([size for size in sizes if len(size.points) > 1])
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure, panels = pyplot.subplots(rows, columns, figsize=(3.6 * columns, 2.7 * rows), squeeze=False)
    ways = {}
    for panel, size in zip(panels.flat, shown):
        for way in sorted({way for _, _, way in size.points}):
            own = [(number, us) for number, us, one in size.points if one == way]
            dots = panel.scatter(*zip(*own), s=12, color=way_colour(way), alpha=0.8, linewidth=0)
            _explain(dots, [f"call {number}: {_microseconds(round(us, 1), None)}, {way}" for number, us in own])
            ways.setdefault(no_formula(way.split()[0]), dots)
        panel.axvline(20, color="black", linewidth=0.8, linestyle=":")
        if size.size_class in limits:
            ways["limit of the rails"] = panel.axhline(limits[size.size_class], color="black", linewidth=1, linestyle="--")
        panel.set_xscale("log")
        panel.set_ylim(0, 1.08 * min(max(us for _, us, _ in size.points), CUT * statistics.median(us for _, us, _ in size.points)))
        panel.set_title(f"{size_text(1 << size.size_class)} bytes", fontsize=10)
        panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        panel.yaxis.set_major_formatter(ticker.FuncFormatter(_microseconds))
        panel.yaxis.set_major_locator(ticker.MaxNLocator(4))
        panel.grid(True, which="major", alpha=0.3)
    for panel in list(panels.flat)[len(shown):]:
        panel.set_visible(False)
    for panel in panels[:, 0]:
        panel.set_ylabel("time of the call")
    for column in range(columns):
        panels[-1][column].set_xlabel("number of the call")
    figure.legend(ways.values(), ways.keys(), loc="lower center", ncol=len(ways), frameon=False, markerscale=2.5)
    figure.tight_layout(rect=(0, 0.07 if rows > 1 else 0.1, 1, 1))
    return figure


def _spread(sizes):
    """A panel's worth of sizes, from the smallest to the largest."""
    if len(sizes) <= _PANELS:
        return sizes
    return [sizes[round(number * (len(sizes) - 1) / (_PANELS - 1))] for number in range(_PANELS)]


def _microseconds(value, _):
    return f"{value:g} µs" if value < 1000 else f"{value / 1000:g} ms"
