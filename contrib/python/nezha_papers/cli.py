# SPDX-License-Identifier: BSD-3-Clause
"""contrib/figures: the papers' figures, the lab's and SimGrid's beside ours."""

import argparse
import sys

from nezha_bench.files import replaceable, write
from nezha_command import terminal
from nezha_command.errors import CommandError
from nezha_lab.checkout import DEFAULT_BUILD
from nezha_lab.leaving import exit_status
from nezha_plan.errors import PlanError

from . import lab, limits, multirail, neuron, sauron, simgrid, words

_TRAINING = "training"
PARTS = {module.PAPER: module for module in (sauron, neuron, multirail, lab, simgrid, limits)}
_ABOUT = f"""\
Prints figures of the papers that Nezha follows beside what its models give; and what was measured in the lab (test/tables), what
SimGrid gives, and what the commands may take, beside ours. "given": the model was given that figure, or one that it follows from.
"missed": the error is beyond what it was to be within; where the reason is known it stands below, with what the papers' own figures
contradict and what our models do not have. "not resolvable": a measurement differs from itself by more than that. The last column has
the test that checks a figure. Parts of {sauron.PAPER}, {simgrid.PAPER} and {limits.PAPER} need a build.

--lab does the same with what contrib/bench has measured elsewhere. "figures {_TRAINING} --help" is about training by PyTorch with Nezha and
others, as in Fig. 8 of {multirail.PAPER}, which is measured on an emulated cluster.

Exit status: 0; 1 when a figure is missed and nobody knows why, when a part could not be had, or when a file could not be read or
written."""
_RIGHT = ("paper", "measured", "SimGrid", "limit", "measured us", "ours", "error", "within", "A/A floor")


def main():
    if sys.argv[1:2] == [_TRAINING]:
        from nezha_training.cli import main as train
        return train(sys.argv[2:])
    return exit_status("figures", _main)


def _main():
    given = _arguments()
    if given.lab:
        return _show_lab(given.lab, lab.across if given.across else lab.of_file)
    found, remarks, complete = _found(given)
    loads = sauron.loads() if given.page and sauron.PAPER in found and complete else {}
    if given.page and not write(given.page, _page(found, remarks, loads)):
        return 1
    for name, rows in found.items():
        terminal.say(f"\n{name}: {words.TITLES[name]}", "bold")
        terminal.print_table(_columns(name), map(_cells, rows), right=_RIGHT)
        for sentence in (*_reasons(rows), *remarks[name]):
            terminal.say(f"- {sentence}")
    everything = [row for rows in found.values() for row in rows]
    terminal.say(f"\n{_counted(everything)}", "bold")
    return 1 if not complete or any(map(_unknown, everything)) else 0


def _arguments():
    parser = argparse.ArgumentParser(prog="contrib/figures", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", default=list(PARTS), help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--build", default=DEFAULT_BUILD, metavar="DIR",
                        help="made by contrib/build; default build/default")
    parser.add_argument("--long", action="store_true", help="clusters of 128 and 512 nodes, too, which take some 15 minutes")
    parser.add_argument("--page", type=replaceable, metavar="FILE", help="an HTML page with pictures, too")
    parser.add_argument("--lab", metavar="FILE", help="in place of parts: of contrib/bench --json; the model is fitted to the sizes of each "
                        "case that are no powers of two, or to every second one where all are, and the others are told")
    parser.add_argument("--across", action="store_true", help="of --lab: the model is fitted to the first case, and the other cases are told")
    given = parser.parse_args()
    unknown = [name for name in given.parts if name not in PARTS]
    if unknown:
        parser.error(f"'{unknown[0]}': {', '.join(PARTS)} are allowed")
    if given.lab and given.page:
        parser.error("--page: there is one of parts alone, and none with --lab")
    if given.across and not given.lab:
        parser.error("--across goes with --lab alone")
    return given


def _found(given):
    """({part: rows}, {part: sentences}, whether all of it could be had); else standard error says why not."""
    found, remarks, complete = {}, {}, True
    for name in given.parts:
        found[name], remarks[name] = [], list(words.REMARKS[name])
        try:
            found[name] += PARTS[name].rows()
            if hasattr(PARTS[name], "of_build"):
                rows, sentences = PARTS[name].of_build(given.build, given.long)
                found[name] += rows
                remarks[name] += sentences
        except (CommandError, PlanError) as error:
            print(f"figures: {error}", file=sys.stderr)
            complete = False
    return found, remarks, complete


def _unknown(row):
    return row.missed and not row.reason


def _reasons(rows):
    """A sentence for each reason, with the figures that it is about."""
    about = {}
    for row in rows:
        if row.reason:
            about.setdefault(row.reason, []).append(row.what)
    return [f"{'; '.join(what)}: {reason}." for reason, what in about.items()]


def _counted(rows):
    missed = sum(row.missed for row in rows)
    given = sum(row.fitted for row in rows if not row.missed)
    vague = sum(not row.holds for row in rows) - missed
    shown = sum(row.holds and not row.fitted and not row.within_text() for row in rows)
    parts = [f"{len(rows) - missed - given - vague - shown} are within what was set", f"{missed} missed", f"{given} given to a model",
             f"{shown} only shown", *([f"{vague} not resolvable"] if vague else [])]
    return f"Of {len(rows)} figures {', '.join(parts)}."


def _show_lab(path, rows_of):
    try:
        rows = list(rows_of(path))
    except (PlanError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        print(f"figures: --lab {path}: {error if isinstance(error, PlanError) else 'it is not of contrib/bench --json'}", file=sys.stderr)
        return 1
    terminal.print_table(("case", "measured us", "ours", "error", "within", "A/A floor", ""), map(_lab_cells, rows), right=_RIGHT)
    return 0


def _lab_cells(row):
    return row.what, f"{row.theirs:.5g}", f"{row.ours:.5g}", row.error_text(), row.within_text(), f"{100 * row.floor:.1f} %", row.verdict


def _columns(name):
    return "figure", words.THEIRS.get(name, "paper"), "ours", "unit", "error", "within", "", "checked by"


def _cells(row):
    return row.what, f"{row.theirs:.5g}", f"{row.ours:.5g}", row.unit, row.error_text(), row.within_text(), row.verdict, row.test


def _page(found, remarks, loads):
    from nezha_command import figures, page

    from . import pictures
    whole = page.Page("Nezha: figures of papers", "paper, ours, error")
    for name, rows in found.items():
        whole.heading(f"{name}: {words.TITLES[name]}")
        for number, (figure, caption) in enumerate(pictures.of(name, rows, loads)):
            whole.svg(figures.svg(figure, f"f{name}{number}"), caption)
        whole.table(_columns(name), map(_cells, rows), text=("figure", "unit", "", "checked by"))
        for sentence in (*_reasons(rows), *remarks[name]):
            whole.say(sentence)
    return whole.text("contrib/figures")


if __name__ == "__main__":
    sys.exit(main())
