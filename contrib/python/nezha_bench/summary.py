# SPDX-License-Identifier: BSD-3-Clause
"""From the rounds to what is printed: plain data, the same for the table, the JSON and the picture."""

import dataclasses
import statistics

from . import aggregator, carried, service_cost, stats, stolen
from .collectives import ALLREDUCE
from .competitors import AGAIN, WITH_COMPONENT, uses_aggregator
from .errors import BenchError

AVERAGE, MEDIAN, SLOWEST = "average", "median", "slowest"
_MEMBER = {AVERAGE: "avg_us", MEDIAN: "median_us", SLOWEST: "max_us"}

# The range for which one figure against the best competitor is given.
_MIDDLE = (8 << 10, 4 << 20)


def summarise(measured, statistic=AVERAGE, collective=ALLREDUCE):
    """A dict of dicts and lists, ready for JSON. Needs one complete round at least."""
    if not measured.rounds:
        raise BenchError("no round was completed: there is nothing to show")
    sizes = sorted(measured.rounds[0][measured.subject].sizes)
    invalid = _invalid(measured)
    rows = [_row(measured, size, _MEMBER[statistic], invalid) for size in sizes]
    return {
        "case": dataclasses.asdict(measured.case), "rounds": len(measured.rounds), "statistic": statistic, "collective": collective,
        "interrupted": measured.interrupted, "subject": measured.subject, "competitors": measured.competitors,
        "sizes": rows, "middle_gain": _middle_gain(rows), "memory": measured.memory,
        "instructions": measured.instructions, "invalid": invalid,
        "stolen": stolen.summarise(launch.sizes for launches in measured.rounds for launch in launches.values()),
    }


def _launches(measured, who):
    return [launches[who] for launches in measured.rounds]


def _invalid(measured):
    """{competitor: reason}: columns that are not what their heading says."""
    found = {}
    for who in WITH_COMPONENT:
        own = [launch for launches in measured.rounds for launch in launches.values() if launch.competitor == who]
        reason = (carried.fault(own) or aggregator.fault(measured.case, own)) if own and not _is_osu(own) else None
        if reason:
            found[who] = reason
    return found


def _is_osu(launches):
    """OSU's program knows nothing of the component's counters."""
    return launches[0].header.get("osu", False)


def _row(measured, size, member, invalid):
    samples = stolen.Samples(measured.rounds, size)
    floor = stats.noise_floor(samples.ratios(AGAIN, measured.subject, member))
    limit = measured.limits[size] * 1e6
    row = {"size": size, "limit_us": limit, "noise_floor": floor, "competitors": {}}
    for who in measured.competitors:
        times = samples.times(who, member)
        cell = {"us": dataclasses.asdict(stats.estimate(times)), "cpu_s_per_gib": _median(samples.times(who, "cpu_s_per_gib"))}
        if limit > 0:
            cell["of_limit"] = dataclasses.asdict(stats.estimate([limit / time for time in times]))
        if who in WITH_COMPONENT:
            cell["carried_by"] = carried.by_size(_launches(measured, who))[size]
        if measured.case.aggregator and uses_aggregator(who):
            cell["service"] = service_cost.estimate(*(samples.times(who, name) for name in (service_cost.MEMBER, service_cost.AGGREGATED)),
                                                    measured.case.processes, service_cost.clock_hz())
        if who != measured.subject:
            ratio = stats.estimate(samples.ratios(who, measured.subject, member))
            cell["over_subject"] = dataclasses.asdict(ratio)
            cell["subject_is"] = stats.verdict(ratio, floor)
        row["competitors"][who] = cell
    row["best_competitor"] = _best(row, {measured.subject, *invalid})
    row["restless"] = samples.restless
    return row


def _median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _best(row, without):
    others = {who: cell["us"]["median"] for who, cell in row["competitors"].items() if who not in without}
    return min(others, key=others.get) if others else None


def _middle_gain(rows):
    """The geometric mean, over the middle sizes, of the best competitor's time over the subject's."""
    ratios = [row["competitors"][row["best_competitor"]]["over_subject"]["median"] for row in rows
              if row["best_competitor"] and _MIDDLE[0] <= row["size"] <= _MIDDLE[1]]
    return stats.geometric_mean(ratios) if ratios else None
