# SPDX-License-Identifier: BSD-3-Clause
"""What bench --program prints: a line for each competitor."""

import shlex

from nezha_lab.console import Console

from . import stats, stolen, table
from .competitors import LABELS, SHORT
from .program_summary import PER_CALL, RATE, SECONDS


def print_summary(summary, console=None):
    console = console or Console(highlight=False)
    table.say(console, [*table.heading(summary["case"], summary["rounds"], summary["interrupted"]), shlex.join(summary["program"])])
    rated = all(cell[RATE] for cell in summary["competitors"].values())
    ratio = f"/ {SHORT[summary['subject']]}"
    columns = ["", "s", ratio, "calls", "in them", "us a call", ratio, *(["iterations/s", ratio] if rated else [])]
    table.print_table(console, columns, [*(_cells(summary, who, rated) for who in summary["competitors"]), _floors(summary, rated)])
    table.say(console, _reading(summary, rated))
    table.print_invalid(console, summary, "line")


def _cells(summary, who, rated):
    cell = summary["competitors"][who]

    def figure(name, form):
        over = cell.get(f"{name}_ratio")
        return [(form.format(cell[name]["median"]), None), table.ratio_cell(over, cell[f"{name}_subject_is"]) if over else ("", None)]

    return [(LABELS[who], None), *figure(SECONDS, "{:.1f}"), (f"{cell['calls']['median']:.0f}", None),
            (f"{100 * cell['allreduce_part']['median']:.1f}%", None), *figure(PER_CALL, "{:.1f}"),
            *(figure(RATE, "{:.4g}") if rated else [])]


def _floors(summary, rated):
    def floor(name):
        value = summary["noise_floors"][name]
        return [("", None), ("" if value is None else f"{100 * value:.1f}%", "dim")]

    return [("A/A floor", "dim"), *floor(SECONDS), ("", None), ("", None), *floor(PER_CALL), *(floor(RATE) if rated else [])]


def _reading(summary, rated):
    subject = SHORT[summary["subject"]]
    since = f"from second {summary['from']:g} on" if summary["from"] else "over the whole run"
    yield "s: the whole job, median over the rounds, as all figures are."
    yield f"Means of the ranks, {since}: calls of MPI_Allreduce, the part of the time spent in them, and a call's time."
    if rated:
        yield f"iterations/s: by the program's own words{', from then on' if summary['from'] else ''}."
    yield (f"/ {subject}: how many times better {subject} is, median of the rounds' ratios with its interval: + {subject} is faster, "
           f"- slower, = not resolvable (also of fewer than {stats.FEWEST} rounds).")
    if summary["stolen"] > stolen.MOST:
        yield f"{stolen.most_text(summary['stolen'])} from a launch; all count."
