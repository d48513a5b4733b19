# SPDX-License-Identifier: BSD-3-Clause
"""contrib/figures: the papers' figures beside ours."""

import argparse
import os
import sys

from nezha_bench.files import replaceable, write
from nezha_command import terminal
from nezha_command.errors import CommandError
from nezha_lab.leaving import exit_status
from nezha_plan.errors import PlanError

from . import lab, multirail, neuron, sauron, words

_TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_TRAINING = "training"
PAPERS = {module.PAPER: module for module in (sauron, neuron, multirail)}
_ABOUT = f"""\
Prints figures of the papers that Nezha follows beside what its models give: paper, ours, error. "given": the model was given that
figure, or one that it follows from. "no": the error is beyond what it was to be within; where the reason is known it stands below, with
what the papers' own figures contradict and what our models do not have. What {sauron.PAPER} simulates is simulated here, too, which takes
a minute and a build. --lab does the same with what contrib/bench has measured. "figures {_TRAINING} --help" is about training by PyTorch
with Nezha and others, as in Fig. 8 of {multirail.PAPER}, which is measured on an emulated cluster.

Exit status: 0; 1 when a figure does not hold and nobody knows why, when {sauron.PAPER} could not be simulated, or when a file could not be
read or written."""
_COLUMNS = ("figure", "paper", "ours", "unit", "error", "within", "")
_RIGHT = ("paper", "ours", "error", "within")


def main():
    if sys.argv[1:2] == [_TRAINING]:
        from nezha_training.cli import main as train
        return train(sys.argv[2:])
    return exit_status("figures", _main)


def _main():
    given = _arguments()
    if given.lab:
        return _show_lab(given.lab, lab.across if given.across else lab.rows)
    found = {name: list(PAPERS[name].rows()) for name in given.papers}
    remarks = {name: list(words.REMARKS[name]) for name in given.papers}
    missing = sauron.PAPER in found and not _simulate(given, found[sauron.PAPER], remarks[sauron.PAPER])
    loads = sauron.loads() if given.page and sauron.PAPER in found and not missing else {}
    if given.page and not write(given.page, _page(found, remarks, loads)):
        return 1
    for name, rows in found.items():
        terminal.say(f"\n{name}: {words.TITLES[name]}", "bold")
        terminal.print_table(_COLUMNS, map(_cells, rows), right=_RIGHT)
        for sentence in (*_reasons(rows), *remarks[name]):
            terminal.say(f"- {sentence}")
    return 1 if missing or any(_unknown(row) for rows in found.values() for row in rows) else 0


def _arguments():
    parser = argparse.ArgumentParser(prog="contrib/figures", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", default=list(PAPERS), help=f"of {', '.join(PAPERS)}; all by default")
    parser.add_argument("--build", default=os.path.join(_TOP, "build", "default"), metavar="DIR",
                        help="made by contrib/build; default build/default")
    parser.add_argument("--long", action="store_true", help=f"of {sauron.PAPER}: clusters of 128 and 512 nodes, too, which take minutes")
    parser.add_argument("--page", type=replaceable, metavar="FILE", help="an HTML page with pictures, too")
    parser.add_argument("--lab", metavar="FILE", help="in place of papers: of contrib/bench --json; the model is fitted to every second size "
                        "of each case, and the others are told")
    parser.add_argument("--across", action="store_true", help="of --lab: the model is fitted to the first case, and the other cases are told")
    given = parser.parse_args()
    unknown = [name for name in given.papers if name not in PAPERS]
    if unknown:
        parser.error(f"'{unknown[0]}': {', '.join(PAPERS)} are allowed")
    return given


def _simulate(given, rows, remarks):
    """Adds to both. Whether that worked; else standard error says why not."""
    program = sauron.program(given.build)
    if not os.access(program, os.X_OK):
        print(f"figures: {program} is not there, so that of {sauron.PAPER} nothing is simulated: contrib/build makes it, and --build names "
              "another build", file=sys.stderr)
        return False
    try:
        found = sauron.simulate(given.build, given.long)
    except CommandError as error:
        print(f"figures: {error}", file=sys.stderr)
        return False
    rows += sauron.simulated(found)
    remarks += found["remarks"]
    return True


def _unknown(row):
    return not row.holds and not row.reason


def _reasons(rows):
    return [f"{row.what}: {row.reason}." for row in rows if row.reason]


def _show_lab(path, rows_of):
    try:
        rows = list(rows_of(path))
    except (PlanError, KeyError, TypeError) as error:
        print(f"figures: --lab {path}: {error if isinstance(error, PlanError) else 'it is not of contrib/bench --json'}", file=sys.stderr)
        return 1
    terminal.print_table(("case", "measured us", "ours", "error", "within", "A/A floor", ""), map(_lab_cells, rows),
                         right=("measured us", "ours", "error", "within", "A/A floor"))
    return 0


def _lab_cells(row):
    verdict = "given" if row.fitted else "" if row.holds else "no" if row.resolvable else "not resolvable"
    return (row.what, f"{row.theirs:.5g}", f"{row.ours:.5g}", row.error_text(), row.within_text(), f"{100 * row.floor:.1f} %", verdict)


def _cells(row):
    marks = ("given" if row.fitted else "", "" if row.holds else "no")
    return row.what, f"{row.theirs:.5g}", f"{row.ours:.5g}", row.unit, row.error_text(), row.within_text(), " ".join(filter(None, marks))


def _page(found, remarks, loads):
    from nezha_command import figures, page

    from . import pictures
    whole = page.Page("Nezha: figures of papers", "paper, ours, error")
    for name, rows in found.items():
        whole.heading(f"{name}: {words.TITLES[name]}")
        for number, (figure, caption) in enumerate(pictures.of(name, rows, loads)):
            whole.svg(figures.svg(figure, f"f{name}{number}"), caption)
        whole.table(_COLUMNS, map(_cells, rows), text=("figure", "unit", ""))
        for sentence in (*_reasons(rows), *remarks[name]):
            whole.say(sentence)
    return whole.text("contrib/figures")


if __name__ == "__main__":
    sys.exit(main())
