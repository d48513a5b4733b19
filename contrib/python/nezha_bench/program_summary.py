# SPDX-License-Identifier: BSD-3-Clause
"""From the rounds of a program to what is printed of it: plain data, for the table and the JSON."""

import dataclasses

from . import stats
from .competitors import AGAIN, WITH_COMPONENT
from .errors import BenchError

# What is compared, and whether more of it is better.
SECONDS, PER_CALL, RATE = "seconds", "us_per_call", "iterations_per_second"
FIGURES = {SECONDS: False, PER_CALL: False, RATE: True}


def summarise(measured, launcher):
    """A dict of dicts and lists. Needs one complete round at least."""
    if not measured.rounds:
        raise BenchError("no round was completed: there is nothing to show")
    floors = {name: _floor(measured, launcher.since, name) for name in FIGURES}
    return {
        "case": dataclasses.asdict(measured.case), "rounds": len(measured.rounds), "interrupted": measured.interrupted,
        "program": launcher.command, "from": launcher.since, "subject": measured.subject,
        "competitors": {who: _cell(measured, launcher.since, who, floors) for who in measured.competitors},
        "noise_floors": floors, "stolen": max(run.stolen for launches in measured.rounds for run in launches.values()),
        "invalid": _invalid(measured),
    }


def figures(run, since):
    """Those of one launch. Seconds are the whole job's, the others are of what happened from `since` on."""
    calls, seconds = run.late("calls"), run.late("seconds")
    span = sum(rank["span"] for rank in run.ranks) / len(run.ranks)
    return {SECONDS: run.seconds, "calls": calls, "bytes": run.late("bytes"), "allreduce_seconds": seconds,
            "allreduce_part": seconds / span, PER_CALL: 1e6 * seconds / calls, RATE: run.iterations_per_second(since)}


def _values(measured, since, who, name):
    return [figures(launches[who], since)[name] for launches in measured.rounds]


def _ratios(measured, since, who, name):
    """By round, above 1 where the subject is better; None where a launch lacks the figure."""
    theirs, own = _values(measured, since, who, name), _values(measured, since, measured.subject, name)
    if None in theirs or None in own:
        return None
    return stats.pair_ratios(own, theirs) if FIGURES[name] else stats.pair_ratios(theirs, own)


def _floor(measured, since, name):
    ratios = _ratios(measured, since, AGAIN, name)
    return stats.noise_floor(ratios) if ratios else None


def _cell(measured, since, who, floors):
    cell = {}
    for name in ("calls", "bytes", "allreduce_seconds", "allreduce_part", *FIGURES):
        values = _values(measured, since, who, name)
        cell[name] = None if None in values else dataclasses.asdict(stats.estimate(values))
    for name, floor in floors.items() if who != measured.subject else ():
        ratios = _ratios(measured, since, who, name)
        if ratios and floor is not None:
            ratio = stats.estimate(ratios)
            cell[f"{name}_ratio"] = dataclasses.asdict(ratio)
            cell[f"{name}_subject_is"] = stats.verdict(ratio, floor)
    return cell


def _invalid(measured):
    """{competitor: reason} of those of Nezha that were not carried by rails, as its report tells."""
    found = {}
    for who in set(measured.competitors) & set(WITH_COMPONENT):
        carried = [launches[who].carried for launches in measured.rounds]
        absent = carried.count(None)
        if absent:
            found[who] = f"the component was not in use in {absent} of {len(carried)} launches (it printed no report)"
        elif 0 in carried:
            found[who] = f"the rails carried no call of rank 0 in {carried.count(0)} of {len(carried)} launches"
    return found
