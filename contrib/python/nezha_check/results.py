# SPDX-License-Identifier: BSD-3-Clause
"""What came out of the tests: single cases, collected per part."""

import dataclasses

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"


@dataclasses.dataclass
class Case:
    """One test case. `reason` says why it was skipped or what failed; `log` is the file that tells more. `unsteady`: it
    passed, but only when it was run again; `reason` and `log` are those of the first time."""

    name: str
    outcome: str
    reason: str = ""
    log: str = ""
    unsteady: bool = False


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


def with_second_chance(first, again):
    """The cases of a second run, in which what failed the first time and passes now is unsteady. What did not fail at first
    keeps its first outcome, unless it fails now."""
    before = {case.name: case for case in first}
    cases = []
    for case in again:
        old = before.pop(case.name, None)
        if case.outcome == PASSED and old and old.outcome == FAILED:
            case = dataclasses.replace(old, outcome=PASSED, unsteady=True)
        cases.append(case)
    # Such as "took too long", which stands for a whole program: it has no such case when all is well.
    lost = [dataclasses.replace(old, outcome=PASSED, unsteady=True) for old in before.values() if old.outcome == FAILED]
    return cases + (lost if again and not count(again, FAILED) else [])
