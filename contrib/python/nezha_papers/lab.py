# SPDX-License-Identifier: BSD-3-Clause
"""Predictions beside what contrib/bench --json has measured in the lab.

rows(): the model is fitted to every second size of a case and tells the others; its errors at the sizes around one are made up for
(calibration.between). across(): it is fitted to the first case and tells all others, whatever their nodes and rails, as it is.

What a rest between calls does to bursts came into the model with test/tables/lab.json in view; its constants are fitted."""

import dataclasses

from nezha_bench.sizes import size_text
from nezha_lab.limit import PAYLOAD
from nezha_lab.network import BURST_BYTES
from nezha_plan import calibration, description, observations

from .row import Row

PAPER = "lab"
# Relative errors that predictions should stay within, from a size on.
_FIRM, _WITHIN, _BELOW = 64 << 10, 0.05, 0.10


@dataclasses.dataclass(frozen=True)
class Measured(Row):
    floor: float = 0.0  # what the measurement differs from itself

    @property
    def resolvable(self):
        return abs(self.error) > self.floor


def cluster(summary, cores):
    """The lab's cluster of a case: nodes that share the machine's cores, and rails that are token buckets. Between calls the benchmark meets, fills one
    vector and compares two."""
    case = summary["case"]
    rails = [{"name": f"tcp/eth{number}", "rate": rate, "payload": PAYLOAD, "burst": BURST_BYTES, "byte": "1ns"}
             for number, rate in enumerate(case["rails"])]
    return description.cluster({"nodes": case["nodes"], "rails": rails, "rest": "50us", "rest_byte": "0.25ns", "cpu": {"cores": cores, "machines": 1}})


def rows(path):
    for summary, times, described in _cases(path):
        known = times[-1::-2]
        fit = calibration.fit(described, known)
        for one in times:
            ours = calibration.predicted(fit.cluster, one) if one in known else calibration.between(fit, one)
            yield _row(summary, one, ours, one in known)


def across(path):
    factors = None
    for summary, times, described in _cases(path):
        first = factors is None
        if first:
            factors = calibration.fit(described, times).factors
        for one in times:
            yield _row(summary, one, calibration.predicted(calibration.with_factors(described, factors), one), first)


def _cases(path):
    """(summary, observations, description) of each case whose nodes are alike and whose rails have rates."""
    document = observations.load(path)
    for case in document["cases"]:
        summary = case["summary"]
        if not summary["case"]["node_rates"] and "none" not in summary["case"]["rails"]:
            yield summary, list(observations.of_bench({"cases": [case]})), cluster(summary, document["machine"]["cores"])


def _row(summary, one, ours, given):
    return Measured(PAPER, f"{summary['case']['name']}, {one.nodes} nodes, {size_text(one.size)}", 1e6 * one.seconds, 1e6 * ours, "us",
                    _WITHIN if one.size >= _FIRM else _BELOW, given, one.noise)
