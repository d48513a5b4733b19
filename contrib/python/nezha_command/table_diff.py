# SPDX-License-Identifier: BSD-3-Clause
"""Where two tables choose differently: for each communicator and size the first entry that fits, not the entries as written.

A range is (least, most), both included; a most of None is without limit. A table is as ask.table() has it.
"""

import itertools


def differences(one, other):
    """[(ranks, nodes, sizes, way of one, way of other)], the first three being ranges; a way is '' where a table says nothing."""
    found = []
    entries = (one["communicators"], other["communicators"])
    for ranks in _pieces(entry["ranks"] for entry in itertools.chain(*entries)):
        fitting = [[entry for entry in table if _has(entry["ranks"], ranks)] for table in entries]
        rows = []
        for nodes in _pieces(entry["nodes"] for entry in itertools.chain(*fitting)):
            _add(rows, nodes, _of_sizes(*(_rules(table, nodes) for table in fitting)))
        _add(found, ranks, rows)
    return [(ranks, nodes, *row) for ranks, rows in found for nodes, of_sizes in rows for row in of_sizes]


def _pieces(ranges):
    """The ranges that begin or end where one of these does, in order."""
    cuts = set()
    for least, most in ranges:
        cuts |= {least, None if most is None else most + 1}
    starts = sorted(cuts - {None})
    return [(start, after - 1) for start, after in zip(starts, starts[1:])] + ([(starts[-1], None)] if None in cuts else [])


def _has(whole, piece):
    return whole[0] <= piece[0] and (whole[1] is None or (piece[1] is not None and piece[1] <= whole[1]))


def _rules(entries, nodes):
    return next((entry["rules"] for entry in entries if _has(entry["nodes"], nodes)), [])


def _of_sizes(one, other):
    """[(sizes, way of one, way of other)] of two lists of rules."""
    rows = []
    for sizes in _pieces((rule["first"], rule["last"]) for rule in (*one, *other)):
        ways = _way(one, sizes), _way(other, sizes)
        _add(rows, sizes, ways if ways[0] != ways[1] else ())
    return [(sizes, *ways) for sizes, ways in rows]


def _way(rules, sizes):
    return next((rule["way"] for rule in rules if _has((rule["first"], rule["last"]), sizes)), "")


def _add(rows, piece, content):
    """Makes the last row longer where this piece follows it and has the same content; leaves out what has none."""
    if not content:
        return
    if rows and rows[-1][1] == content and rows[-1][0][1] == piece[0] - 1:
        rows[-1] = ((rows[-1][0][0], piece[1]), content)
    else:
        rows.append((piece, content))
