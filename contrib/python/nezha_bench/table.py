# SPDX-License-Identifier: BSD-3-Clause
"""A summary as people read it: rich tables on a terminal, plain lines elsewhere."""

from nezha_lab.console import Console
from rich.table import Table
from rich.text import Text

from . import carried, stats, stolen
from .collectives import ALLREDUCE
from .competitors import LABELS, SHORT, WITH_COMPONENT
from .sizes import size_text

_STYLES = {stats.FASTER: "green", stats.SLOWER: "red", stats.UNRESOLVED: "dim"}
_SIGNS = {stats.FASTER: "+", stats.SLOWER: "-", stats.UNRESOLVED: "="}


def print_summary(summary, console=None):
    console = console or Console(highlight=False)
    say(console, heading(summary["case"], summary["rounds"], summary["interrupted"], summary["collective"]))
    print_table(console, _columns(summary), [_cells(summary, row) for row in summary["sizes"]])
    say(console, _reading(summary))
    console.print()
    print_table(console, ["size", *(f"{SHORT[who]} CPU s/GiB" for who in summary["competitors"])],
                 [_cpu_cells(summary, row) for row in summary["sizes"]])
    say(console, _notes(summary))
    print_invalid(console, summary, "column")


def say(console, lines):
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def print_invalid(console, summary, part):
    for who, reason in summary["invalid"].items():
        console.print(Text(f"*** INVALID: the {part} \"{SHORT[who]}\" is not about Nezha: {reason} ***",
                           style="bold white on red"), soft_wrap=True)


def case_text(case):
    if not case["rails"]:
        return f"{case['nodes']} ranks"
    rails = " + ".join("unshaped" if rate == "none" else rate for rate in case["rails"])
    uneven = "".join(f", node n{n} rail eth{r} at {rate}" for n, r, rate in
                     (entry.split(":") for entry in case["node_rates"]))
    nodes = "1 node" if case["nodes"] == 1 else f"{case['nodes']} nodes"
    own = "".join(f", eth{rail} to the aggregator alone" for rail in case.get("own_rails", ()))  # files of older versions have none
    return f"{nodes}{_ranks_text(case['ranks'])}, {rails}{uneven}{own}"


def _ranks_text(ranks):
    if isinstance(ranks, int):
        return f" with {ranks} ranks each" if ranks > 1 else ""
    return f" with {', '.join(map(str, ranks[:-1]))} and {ranks[-1]} ranks"


def collective_text(collective):
    """In front of what it was measured on; nothing for allreduces."""
    return "" if collective == ALLREDUCE else f"{collective}, "


def heading(case, rounds, interrupted=False, collective=ALLREDUCE):
    """The lines above a table."""
    ended = ", ended early" if interrupted else ""
    return ["", f"{case['name']}: {collective_text(collective)}{case_text(case)}, {rounds} round{'' if rounds == 1 else 's'}{ended}"]


def print_table(console, columns, rows):
    if console.is_terminal:
        console.print(_rich_table(columns, rows))
        return
    for line in _plain_table(columns, rows):
        console.print(line, markup=False, soft_wrap=True)


def _is_limited(summary):
    return any(row["limit_us"] > 0 for row in summary["sizes"])


def _columns(summary):
    subject = SHORT[summary["subject"]]
    columns = ["size", f"{subject} us", *(["limit us", "% of limit"] if _is_limited(summary) else [])]
    for who in summary["competitors"]:
        if who != summary["subject"]:
            columns += [f"{SHORT[who]} us", f"/ {subject}"]
    return columns + ["A/A floor"]


def _cells(summary, row):
    """(text, style) per column."""
    subject = row["competitors"][summary["subject"]]
    cells = [(size_text(row["size"]), None), (_time(subject["us"]["median"]) + _mark(subject), "bold")]
    if _is_limited(summary):
        cells += _limit_cells(row, subject)
    for who in summary["competitors"]:
        if who != summary["subject"]:
            cell = row["competitors"][who]
            cells += [(_time(cell["us"]["median"]) + _mark(cell), None), ratio_cell(cell["over_subject"], cell["subject_is"])]
    return cells + [(f"{100 * row['noise_floor']:.1f}%" + stolen.mark(row["restless"]), "dim")]


def _cpu_cells(summary, row):
    seconds = [row["competitors"][who]["cpu_s_per_gib"] for who in summary["competitors"]]
    return [(size_text(row["size"]), None), *((_cpu(value), None) for value in seconds)]


def _limit_cells(row, subject):
    if "of_limit" not in subject:
        return [("", None), ("", None)]
    part = subject["of_limit"]
    return [(_time(row["limit_us"]), "dim"), (span_text(part, 100, 1), None)]


def ratio_cell(part, verdict):
    """part: an Estimate as a dict."""
    return (f"{span_text(part)} {_SIGNS[verdict]}", _STYLES[verdict])


def span_text(part, unit=1, digits=3):
    """A median and its interval. part: an Estimate as a dict."""
    return "{:.{digits}f} [{:.{digits}f} {:.{digits}f}]".format(*(unit * part[name] for name in ("median", "low", "high")), digits=digits)


def _mark(cell):
    return {carried.INCUMBENT: " i", carried.PARTLY: " p"}.get(cell.get("carried_by"), "")


def _time(microseconds):
    return f"{microseconds:.1f}" if microseconds < 1000 else f"{microseconds:.0f}"


def _cpu(seconds):
    return "?" if seconds is None else f"{seconds:.1f}" if seconds < 1000 else f"{seconds:.0f}"


def _rich_table(columns, rows):
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(Text(text, style=style or "") for text, style in row))
    return table


def _plain_table(columns, rows):
    texts = [columns] + [[text for text, _ in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts)]
    return ["  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in texts]


def _reading(summary):
    subject = SHORT[summary["subject"]]
    coverage = summary["sizes"][0]["competitors"][summary["subject"]]["us"]["coverage"]
    yield f"us: median over the rounds of a call's {summary['statistic']} time. Brackets: {100 * coverage:.0f} % intervals."
    yield (f"/ {subject}: time over that of {subject}, median of the rounds' ratios: + {subject} is faster, - slower, "
           "= not resolvable (less than the A/A floor, 1 lies in the interval, or fewer than "
           f"{stats.FEWEST} rounds).")
    if set(summary["competitors"]) & set(WITH_COMPONENT):
        yield f"i: Open MPI's own {summary['collective']} carried Nezha's calls; p: some of them."
    yield from stolen.sentences(summary["stolen"], any(row["restless"] for row in summary["sizes"]))
    if summary["middle_gain"]:
        yield f"Best competitor / {subject}, geometric mean from 8K to 4M: {summary['middle_gain']:.3f}"


def _notes(summary):
    yield "CPU s/GiB: processor seconds of one process per GiB of vector."
    yield from _memory_notes(summary)
    yield from _instruction_notes(summary.get("instructions", {}))
    yield from _service_notes(summary)


def _service_notes(summary):
    costs = [(size_text(row["size"]), row["competitors"][summary["subject"]].get("service")) for row in summary["sizes"]]
    known = [f"{size} {_cpu(cost['cpu_s_per_gib'])}" for size, cost in costs if cost]
    if known:
        yield f"The aggregation service's CPU s/GiB, of what {SHORT[summary['subject']]} sent through it: {', '.join(known)}"


def _memory_notes(summary):
    memory = summary["memory"]
    for who, found in memory.get("processes", {}).items():
        yield (f"Memory at {size_text(memory['size'])}, the most of any process: {LABELS[who]} {found['peak_kib'] / 1024:.1f} MiB "
               f"resident, {found['socket_kib'] / 1024:.1f} MiB in socket buffers")
    if "beyond_kib" in memory:
        yield (f"Nezha beyond Open MPI: {memory['beyond_kib'] / 1024:.1f} MiB per process "
               f"({memory['peers']} peers)")


def _instruction_notes(found):
    if "missing" in found:
        yield f"Instructions were not counted: {found['missing']}"
    for size, costs in found.get("sizes", {}).items():
        call, byte = costs["per_call"], costs["per_byte"]
        yield (f"Nezha's instructions at {size_text(size)}: {span_text(call, digits=0)} a call, "
               f"{byte['median']:.3f} a byte")
