# SPDX-License-Identifier: BSD-3-Clause
"""Whether Nezha's rails really carried the calls that stand in its column, by the component's own counters; and what its report says."""

import re

# A row of the report: size, unit, calls that rails carried. Rows of the times of ranks have more columns.
_REPORTED = re.compile(r"^  from +(\d+ (?:B|KiB|MiB|GiB)) +(\d+)(?: +[\d.]+){3,4}$", re.MULTILINE)

# Where the component does not tell its threshold, nothing this large may have been left to the incumbent.
_SURELY_LARGE = 1 << 20

RAILS, INCUMBENT, PARTLY, UNKNOWN = "rails", "incumbent", "partly", "unknown"


def reported(words):
    """[(size class, as "8 MiB", calls of rank 0 that rails carried)...] of the reports among these words."""
    return [(size, int(calls)) for size, calls in _REPORTED.findall(words)]


def by_size(launches):
    """{size: RAILS, INCUMBENT, PARTLY or UNKNOWN} over all launches of Nezha."""
    return {size: _one([launch.sizes[size] for launch in launches if size in launch.sizes]) for size in launches[0].sizes}


def _one(rows):
    if any("nezha_calls" not in row for row in rows):
        return UNKNOWN
    if all(row["nezha_calls"] == 0 for row in rows):
        return INCUMBENT
    return RAILS if all(row["nezha_calls"] >= row["iterations"] for row in rows) else PARTLY


def fault(launches):
    """Why Nezha's column is not about Nezha, in one sentence; None when it is."""
    absent = sum(not launch.header.get("nezha") for launch in launches)
    if absent:
        return f"the component was not in use in {absent} of {len(launches)} launches (its counters are not there)"
    states = by_size(launches)
    if not any(state in (RAILS, PARTLY) for state in states.values()):
        return "the rails carried no call at any size"
    threshold = launches[0].header.get("nezha_threshold", -1)
    least = threshold if threshold > 0 else _SURELY_LARGE
    idle = [size for size, state in states.items() if size >= least and state == INCUMBENT]
    if idle:
        return f"the rails carried no call at {len(idle)} sizes from {least} bytes on: {idle}"
    return None
