# SPDX-License-Identifier: BSD-3-Clause
"""contrib/figures: the papers' figures beside ours."""

import argparse
import sys

from nezha_command import terminal
from nezha_lab.leaving import exit_status

from . import multirail, neuron, sauron, words

PAPERS = {module.PAPER: module for module in (sauron, neuron, multirail)}
_ABOUT = """\
Prints figures of the papers that Nezha follows beside what its model gives: paper, ours, error. "given": the model was given that
figure, or one that it follows from. "no": the error is beyond what it was to be within. Below stand what the papers' own figures
contradict, and what our model does not have."""


def main():
    return exit_status("figures", _main)


def _main():
    parser = argparse.ArgumentParser(prog="contrib/figures", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", default=list(PAPERS), help=f"of {', '.join(PAPERS)}; all by default")
    wanted = parser.parse_args().papers
    unknown = [name for name in wanted if name not in PAPERS]
    if unknown:
        parser.error(f"'{unknown[0]}': {', '.join(PAPERS)} are allowed")
    for name in wanted:
        _show(name)
    return 0


def _show(name):
    found = list(PAPERS[name].rows())
    terminal.say(f"\n{name}: {words.TITLES[name]}", "bold")
    terminal.print_table(("figure", "paper", "ours", "unit", "error", "within", ""), map(_cells, found),
                         right=("paper", "ours", "error", "within"))
    for sentence in words.REMARKS[name]:
        terminal.say(f"- {sentence}")


def _cells(row):
    verdict = "" if row.tolerance is None else "" if row.holds else "no"
    within = "" if row.tolerance is None else f"{row.tolerance:g} points" if row.unit == "%" else f"{100 * row.tolerance:.2g} %"
    return (row.what, f"{row.theirs:.5g}", f"{row.ours:.5g}", row.unit, row.error_text(), within, " ".join(filter(None, ("given" if row.fitted else "", verdict))))


if __name__ == "__main__":
    sys.exit(main())
