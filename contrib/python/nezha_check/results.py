# SPDX-License-Identifier: BSD-3-Clause
"""What came out of the tests: single cases, collected per part."""

import dataclasses

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"


@dataclasses.dataclass
class Case:
    """One test case. `reason` says why it was skipped or what failed; `log` is the file that tells more."""

    name: str
    outcome: str
    reason: str = ""
    log: str = ""


def count(cases, outcome):
    return sum(case.outcome == outcome for case in cases)


def in_words(cases):
    """'12 passed, 1 failed, 2 skipped', outcomes that did not occur left out."""
    words = [f"{count(cases, outcome)} {outcome}" for outcome in (PASSED, FAILED, SKIPPED) if count(cases, outcome)]
    return ", ".join(words) or "no cases"


def failures_of_skips(cases):
    """The same cases with every skip turned into a failure: for places where nothing may be skipped."""
    return [dataclasses.replace(case, outcome=FAILED, reason=f"skipped: {case.reason}")
            if case.outcome == SKIPPED else case for case in cases]
