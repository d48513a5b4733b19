# SPDX-License-Identifier: BSD-3-Clause
"""contrib/figures: the papers' figures beside ours."""

import argparse
import sys

from nezha_bench.files import replaceable, write
from nezha_command import terminal
from nezha_lab.leaving import exit_status
from nezha_plan.errors import PlanError

from . import lab, multirail, neuron, sauron, words

PAPERS = {module.PAPER: module for module in (sauron, neuron, multirail)}
_ABOUT = """\
Prints figures of the papers that Nezha follows beside what its model gives: paper, ours, error. "given": the model was given that
figure, or one that it follows from. "no": the error is beyond what it was to be within. Below stand what the papers' own figures
contradict, and what our model does not have. --lab does the same with what contrib/bench has measured.

Exit status: 0, or 1 when a file could not be read or written."""
_COLUMNS = ("figure", "paper", "ours", "unit", "error", "within", "")
_RIGHT = ("paper", "ours", "error", "within")


def main():
    return exit_status("figures", _main)


def _main():
    parser = argparse.ArgumentParser(prog="contrib/figures", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", default=list(PAPERS), help=f"of {', '.join(PAPERS)}; all by default")
    parser.add_argument("--page", type=replaceable, metavar="FILE", help="an HTML page with pictures, too")
    parser.add_argument("--lab", metavar="FILE", help="in place of papers: of contrib/bench --json; the model is fitted to every second size "
                        "of each case, and the others are told")
    given = parser.parse_args()
    if given.lab:
        return _show_lab(given.lab)
    unknown = [name for name in given.papers if name not in PAPERS]
    if unknown:
        parser.error(f"'{unknown[0]}': {', '.join(PAPERS)} are allowed")
    if given.page and not write(given.page, _page(given.papers)):
        return 1
    for name in given.papers:
        terminal.say(f"\n{name}: {words.TITLES[name]}", "bold")
        terminal.print_table(_COLUMNS, _cells(name), right=_RIGHT)
        for sentence in words.REMARKS[name]:
            terminal.say(f"- {sentence}")
    return 0


def _show_lab(path):
    try:
        rows = list(lab.rows(path))
    except (PlanError, KeyError, TypeError) as error:
        print(f"figures: --lab {path}: {error if isinstance(error, PlanError) else 'it is not of contrib/bench --json'}", file=sys.stderr)
        return 1
    terminal.print_table(("case", "measured us", "ours", "error", "within", "A/A floor", ""), map(_lab_cells, rows),
                         right=("measured us", "ours", "error", "within", "A/A floor"))
    return 0


def _lab_cells(row):
    verdict = "given" if row.fitted else "" if row.holds else "no" if row.resolvable else "not resolvable"
    return (row.what, f"{row.theirs:.5g}", f"{row.ours:.5g}", row.error_text(), f"{100 * row.tolerance:.0f} %", f"{100 * row.floor:.1f} %",
            verdict)


def _cells(name):
    for row in PAPERS[name].rows():
        within = "" if row.tolerance is None else f"{100 * row.tolerance:.2g} %"
        marks = ("given" if row.fitted else "", "" if row.holds else "no")
        yield row.what, f"{row.theirs:.5g}", f"{row.ours:.5g}", row.unit, row.error_text(), within, " ".join(filter(None, marks))


def _page(names):
    from nezha_command import figures, page

    from . import pictures
    whole = page.Page("Nezha: figures of papers", "paper, ours, error")
    for name in names:
        whole.heading(f"{name}: {words.TITLES[name]}")
        for number, (figure, caption) in enumerate(pictures.of(name)):
            whole.svg(figures.svg(figure, f"f{name}{number}"), caption)
            whole.say(caption)
        whole.table(_COLUMNS, _cells(name), text=("figure", "unit", ""))
        for sentence in words.REMARKS[name]:
            whole.say(sentence)
    return whole.text("contrib/figures")


if __name__ == "__main__":
    sys.exit(main())
