# SPDX-License-Identifier: BSD-3-Clause
"""The report's part on a bench file: time and % of the limit by size, against the competitors."""

import itertools
import shlex

from nezha_bench import carried, stats, stolen
from nezha_bench.collectives import ALLREDUCE
from nezha_bench.competitors import SHORT
from nezha_bench.sizes import size_text
from nezha_bench.summary import AVERAGE
from nezha_bench.table import case_text, collective_text

from . import figures, verdict

_numbers = itertools.count(1)
_VERDICT = {"faster": "+", "slower": "−", "not resolvable": "="}


def write(page, document, path):
    for case in document["cases"]:
        _write_case(page, case, document, path)


def _write_case(page, case, document, path):
    summary = {"collective": ALLREDUCE, "statistic": AVERAGE, **case["summary"]}  # files of older versions have neither
    page.verdict(verdict.of_case(summary))
    page.heading(f"Measured: {summary['case']['name']} ({collective_text(summary['collective'])}{case_text(summary['case'])})")
    machine = document.get("machine", {})
    page.say(f"{path}, {summary['rounds']} alternating rounds, {document.get('started', '')}, "
             f"{machine.get('processor', 'unknown processor')}, {machine.get('cores', '?')} cores.")
    page.details("Command line and parameters", [shlex.join(document.get("command", [])), *_launches(case)])
    for who, reason in summary["invalid"].items():
        page.warn(f"The column “{SHORT[who]}” is not about Nezha: {reason}.")
    if summary["subject"] not in summary["invalid"]:
        page.tiles(_tiles(summary))
    page.svg(figures.svg(figures.bench(summary), f"b{next(_numbers)}"), "Time of a call, and percentage of the limit, by size")
    page.table(*_table(summary))
    for sentence in _reading(summary):
        page.say(sentence)


def _reading(summary):
    yield (f"µs: medians over the rounds of a call's {summary['statistic']} time. “×”: time over that of the first column, the median "
           "of the rounds' ratios; + the first is faster, − slower, = not resolvable (less than the A/A floor, what it differs from "
           f"itself, 1 lies in the interval, or fewer than {stats.FEWEST} rounds). i: Open MPI's own {summary['collective']} (incumbent) "
           "carried Nezha's calls; p: some of them.")
    if "stolen" in summary:  # files of older versions do not have it
        yield from stolen.sentences(summary["stolen"], any(row.get("restless") for row in summary["sizes"]))


def _launches(case):
    """What each competitor's mpirun was given, and the parameters of Nezha's."""
    for who, words in case.get("commands", {}).items():
        yield f"{SHORT[who]}: {shlex.join(words)}"
    for name, value in case.get("nezha_mca", []):
        yield f"{name} = {value}"


def _tiles(summary):
    largest = summary["sizes"][-1]
    subject = largest["competitors"][summary["subject"]]
    if "of_limit" in subject:
        yield f"{100 * subject['of_limit']['median']:.1f} %", f"of the limit at {size_text(largest['size'])}"
    if largest["best_competitor"] and largest["best_competitor"] not in summary["invalid"]:
        best = largest["competitors"][largest["best_competitor"]]
        yield (f"{best['over_subject']['median']:.2f} ×",
               f"{SHORT[largest['best_competitor']]} at {size_text(largest['size'])}, the best competitor")
    if summary["middle_gain"]:
        yield f"{summary['middle_gain']:.2f} ×", "best competitor, mean of 8K to 4M"


def _table(summary):
    others = [who for who in summary["competitors"] if who != summary["subject"]]
    columns = ["size", f"{SHORT[summary['subject']]} µs", "% of limit", "A/A floor"]
    columns += [name for who in others for name in (f"{SHORT[who]} µs", "×" + " " * others.index(who))]
    return columns, [_row(summary, row, others) for row in summary["sizes"]]


def _row(summary, row, others):
    subject = row["competitors"][summary["subject"]]
    cells = [size_text(row["size"]), _time(subject["us"]["median"]) + _mark(subject),
             f"{100 * subject['of_limit']['median']:.1f}" if "of_limit" in subject else "",
             f"{100 * row['noise_floor']:.1f} %" + stolen.mark(row.get("restless", False))]
    for who in others:
        cell = row["competitors"][who]
        cells += [_time(cell["us"]["median"]) + _mark(cell), f"{cell['over_subject']['median']:.2f} {_VERDICT[cell['subject_is']]}"]
    return cells


def _mark(cell):
    return {carried.INCUMBENT: " i", carried.PARTLY: " p"}.get(cell.get("carried_by"), "")


def _time(microseconds):
    return f"{microseconds:.1f}" if microseconds < 1000 else f"{microseconds:.0f}"
