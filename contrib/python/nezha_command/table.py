# SPDX-License-Identifier: BSD-3-Clause
"""nezha table: what is in a file of learned ways, whether it is sound, and how two differ."""

import json

from nezha_bench.sizes import size_text

from . import ask, paths, table_diff, terminal
from .errors import FOUND, GOOD, UNABLE, CommandError, UsageError

_ABOUT = """\
Looks at what coll_nezha_table_save has written and coll_nezha_table reads (nezha-table(5)). The component's own parser reads it.

  nezha table show FILE          what is chosen for each size, what it took, and by how much it won
  nezha table diff FILE OTHER    where they choose differently
  nezha table check FILE...      whether the component would take them

Exit status: 0; 1 when a file would be refused, or, of diff, when they differ; 3 when one cannot be read."""


def add(verbs):
    parser = verbs.add_parser("table", help="show, compare and check files of learned ways", description=_ABOUT)
    parser.add_argument("what", choices=("show", "diff", "check"))
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="for scripts")
    parser.set_defaults(run=run)


def run(options):
    wanted = {"show": 1, "diff": 2}.get(options.what)
    if wanted and len(options.files) != wanted:
        raise UsageError(f"{options.what} takes {wanted} file{'s' if wanted > 1 else ''}, not {len(options.files)}")
    if options.what == "check":
        return _check(options)
    tables = [ask.table(path) for path in options.files]
    refused = {path: table["refused"] for path, table in zip(options.files, tables) if "refused" in table}
    if refused:
        return _told(options, refused, {})
    return _show(tables[0], options) if options.what == "show" else _diff(*tables, options)


def _check(options):
    """All of them, whatever is the matter with one."""
    refused, unread = {}, {}
    for path in options.files:
        try:
            found = ask.table(path)
        except CommandError as error:
            unread[path] = str(error)
            continue
        if "refused" in found:
            refused[path] = found["refused"]
    return _told(options, refused, unread)


def _told(options, refused, unread):
    """Shows the files that cannot be used and why, and, when they were to be checked, the others."""
    if options.json:
        print(json.dumps({"refused": refused, "unread": unread}, indent=1))
    for path in options.files if not options.json else ():
        name = paths.printable(path)
        if path in unread:
            terminal.say(f"{name} could not be checked: {unread[path]}", "bold red")
        elif path in refused:
            terminal.say(f"{name} is refused: {refused[path]}", "bold red")
        elif options.what == "check":
            terminal.say(f"{name} is sound", "green")
    return UNABLE if unread else FOUND if refused else GOOD


def _range(low, high, text=str):
    return text(low) if low == high else f"{text(low)} and more" if high is None else f"{text(low)} to {text(high)}"


def _sizes(rule):
    """'64K' for a single size class, which goes to below the next power of two."""
    first, last = rule["first"], rule["last"]
    if last is not None and last + 1 == 2 * max(1, first):
        return size_text(first)
    return f"{size_text(first)} and more" if last is None else f"{size_text(first)} to {size_text(last + 1)}"


def _shape(entry):
    ranks, nodes = _range(*entry["ranks"]), _range(*entry["nodes"])
    where = "" if nodes == "0 and more" else f" on {nodes} node{'' if nodes == '1' else 's'}"
    return f"{ranks} ranks{where}"


def _time(us):
    return f"{us:.1f} us" if us < 1000 else f"{us / 1000:.2f} ms"


def _row(rule):
    others = [entry for entry in rule["measured"] if entry["way"] != rule["way"]]
    own = next((entry["us"] for entry in rule["measured"] if entry["way"] == rule["way"]), None)
    best = min(others, key=lambda entry: entry["us"], default=None)
    return (_sizes(rule), (rule["way"], "bold"), _time(own) if own else "", best["way"] if best else "",
            f"{best['us'] / own:.2f} x" if best and own else "", str(rule["calls"]) if rule["calls"] else "",
            ", ".join(f"{rail} {100 * share:.0f} %" for rail, share in rule["shares"].items()))


def show(table):
    for number, entry in enumerate(table["communicators"]):
        terminal.say(("\n" if number else "") + _shape(entry), "bold")
        terminal.print_table(("size", "way", "takes", "next best", "takes", "calls", "shares"), map(_row, entry["rules"]),
                             right=("size", "takes", "calls"))
    if not table["communicators"]:
        terminal.say("The table is empty.")


def _show(table, options):
    if options.json:
        print(json.dumps(table, indent=1))
    else:
        show(table)
    return GOOD


def _diff(one, other, options):
    found = [(_shape({"ranks": ranks, "nodes": nodes}), _sizes({"first": sizes[0], "last": sizes[1]}), *ways)
             for ranks, nodes, sizes, *ways in table_diff.differences(one, other)]
    if options.json:
        print(json.dumps({"differences": [dict(zip(("communicator", "size", "one", "other"), row)) for row in found]}, indent=1))
    elif found:
        terminal.print_table(("communicator", "size", *map(paths.printable, options.files)), found, right=("size",))
    else:
        terminal.say("They choose alike.")
    return FOUND if found else GOOD
