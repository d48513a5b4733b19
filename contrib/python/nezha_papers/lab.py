# SPDX-License-Identifier: BSD-3-Clause
"""Predictions beside what contrib/bench --json has measured in the lab.

of_file(): the model is fitted to some sizes of a case (_calibrated) and tells the others, as nezha plan --from does. across(): it is
fitted to the first case and tells all others, whatever their nodes and rails, as it is.
rows(): what of_file() tells of test/tables/lab.json and, below 64 KiB, of lab-small.json, which was measured in more rounds.

What a rest between calls does to bursts came into the model with test/tables/lab.json in view; its constants are fitted."""

import dataclasses
import os

from nezha_bench.sizes import size_text
from nezha_lab.limit import PAYLOAD
from nezha_lab.network import BURST_BYTES
from nezha_plan import calibration, description, observations

from .row import Row

PAPER = "lab"
_TESTS = "test_figures.test_small_vectors_of_the_lab", "test_figures.test_the_lab"
# Relative errors that predictions should stay within, from a size on.
_FIRM, _WITHIN, _BELOW = 64 << 10, 0.05, 0.10
_SMALL = ("which of the processes runs when decides there, on 2 cores for all nodes; and what a small message waits for on a rail whose bursts "
          "are used up depends on the messages before it")
_LARGE = "where bursts or caches come to their end between the calibrated sizes, or another algorithm begins, the error jumps"
_PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), *3 * [os.pardir], "test", "tables")
_TABLES = ((os.path.join(_PLACE, "lab-small.json"), range(_FIRM)), (os.path.join(_PLACE, "lab.json"), range(_FIRM, 1 << 40)))


@dataclasses.dataclass(frozen=True)
class Measured(Row):
    floor: float = 0.0  # what the measurement differs from itself
    size: int = 0

    @property
    def resolvable(self):
        return abs(self.error) > self.floor

    @property
    def missed(self):
        return not self.fitted and super().missed

    @property
    def reason(self):
        if not self.missed:
            return ""
        return _SMALL if self.size < _FIRM else _LARGE


def cluster(summary, cores):
    """The lab's cluster of a case: nodes that share the machine's cores, and rails that are token buckets. Between calls the benchmark meets, fills one
    vector and compares two."""
    case = summary["case"]
    rails = [{"name": f"tcp/eth{number}", "rate": rate, "payload": PAYLOAD, "burst": BURST_BYTES, "byte": "1ns"}
             for number, rate in enumerate(case["rails"])]
    return description.cluster({"nodes": case["nodes"], "rails": rails, "rest": "50us", "rest_byte": "0.25ns", "cpu": {"cores": cores, "machines": 1}})


def rows():
    for path, sizes in _TABLES:
        yield from (row for row in of_file(path) if not row.fitted and row.size in sizes)


def of_file(path):
    for summary, times, described in _cases(path):
        known = _calibrated(times)
        fit = calibration.fit(described, known)
        for one in times:
            given = one in known
            yield _row(summary, one, calibration.predicted(fit.cluster if given else fit.corrected, one), given)


def _calibrated(times):
    """Of a case's times those at sizes that are no powers of two; every second one where all are."""
    return [one for one in times if one.size & one.size - 1] or times[-1::-2]


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
                    _WITHIN if one.size >= _FIRM else _BELOW, given, one.noise, one.size,
                    test=_TESTS[one.size >= _FIRM])
