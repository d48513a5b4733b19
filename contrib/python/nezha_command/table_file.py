# SPDX-License-Identifier: BSD-3-Clause
"""Adds what was measured to a table's file, in the form of nezha-table(5)."""

import json
import os

from nezha_bench import files

from . import ask, file_lock, installed
from .errors import CommandError

_MOST_MEASURED = 8
# The version of the format from which on ways may name rails.
_NAMES_RAILS = 2


def check(path):
    """Raises CommandError where add() could not add to what is there."""
    with file_lock.alone_with(path):
        _read(path)


def add(path, ranks, nodes, results):
    """Replaces what the file says of these sizes in communicators of that shape, or makes a new file. results: {size: [(way,
    seconds)]}, the chosen way first. One process after the other; a file that the component would refuse is neither read nor
    left. Returns whether it could be written, as files.write() does."""
    try:
        with file_lock.alone_with(path):
            return files.write(path, _added(_read(path), ranks, nodes, results), _refused)
    except CommandError as error:  # another has the lock, or the file was changed after check()
        keep(path, ranks, nodes, results, str(error))
        return False


def keep(path, ranks, nodes, results, why):
    """A table of these results alone goes to a place that standard error names, with the reason why."""
    files.keep(path, _added(_new(), ranks, nodes, results).encode(), why)


def _refused(scratch):
    try:
        reason = ask.table(scratch).get("refused")
    except CommandError as error:
        return str(error)
    return reason and f"it stays as it is, for the component would refuse what it would become: {reason}"


def _added(document, ranks, nodes, results):
    rules = _shape(document["collectives"]["allreduce"], ranks, nodes)["rules"]
    new = [_rule(size, measured) for size, measured in results.items()]
    if any("rails" in way for rule in new for way in (rule, *rule["measured"])):
        document["rule_file_version"] = max(_NAMES_RAILS, document["rule_file_version"])
    sizes = {(rule["msg_size_min"], rule["msg_size_max"]) for rule in new}
    kept = [rule for rule in rules if (rule.get("msg_size_min", 0), rule.get("msg_size_max", "inf")) not in sizes]
    # Only the first rule that fits counts: those for one size class go before the ranges that others have.
    rules[:] = sorted(new, key=lambda rule: rule["msg_size_min"]) + kept
    return json.dumps(document, indent=2) + "\n"


def _new():
    return {"rule_file_version": 1, "module": "nezha", "nezha_version": installed.VERSION, "collectives": {"allreduce": []}}


def _read(path):
    if not os.path.exists(path):
        return _new()
    refused = ask.table(path).get("refused")
    if refused:
        raise CommandError(f"{path} is no table, and stays as it is: {refused}")
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    document["collectives"].setdefault("allreduce", [])
    return document


def _range(shape, what):
    most = shape.get(f"comm_{what}_max", "inf")
    return shape.get(f"comm_{what}_min", 0), float("inf") if most == "inf" else most


def _shape(shapes, ranks, nodes):
    """The entry for just this shape. A new one stands before what has held for it so far, and begins with its rules."""
    for at, shape in enumerate(shapes):
        ranges = _range(shape, "size"), _range(shape, "nodes")
        if ranges == ((ranks, ranks), (nodes, nodes)):
            return shape
        if all(low <= number <= high for number, (low, high) in zip((ranks, nodes), ranges)):
            return _insert(shapes, at, ranks, nodes, shape["rules"])
    return _insert(shapes, len(shapes), ranks, nodes, [])


def _insert(shapes, at, ranks, nodes, rules):
    shapes.insert(at, {"comm_size_min": ranks, "comm_size_max": ranks, "comm_nodes_min": nodes, "comm_nodes_max": nodes,
                       "rules": list(rules)})
    return shapes[at]


def _way(way):
    return {"alg": way.algorithm, **({"rails": [way.rail]} if way.rail else {}), **({"chunk": way.chunk} if way.chunk else {})}


def _rule(size, measured):
    return {"msg_size_min": size, "msg_size_max": 2 * size - 1, **_way(measured[0][0]),
            "measured": [{**_way(way), "time_ns": round(seconds * 1e9)} for way, seconds in measured[:_MOST_MEASURED]]}
