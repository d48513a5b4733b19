# SPDX-License-Identifier: BSD-3-Clause
"""Reads single cases out of what test programs print: googletest's lines, TAP, or just an exit status."""

import re

from nezha_check.results import FAILED, PASSED, SKIPPED, Case

SKIP_STATUS = 77  # automake's exit status for a skipped test

GTEST_RUN = re.compile(r"\[ RUN      \] (\S+)")
GTEST_END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)")
GTEST_OUTCOME = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}
GTEST_BANNER = "[==========] "

TAP_PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$", re.IGNORECASE)
TAP_CASE = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:- )?([^#]*)(?:#\s*(skip|todo)\S*\s*(.*))?$", re.IGNORECASE)
TAP_SKIP = re.compile(r"^skip ([^:]+): (.*)$")
TAP_UNSTEADY = "# passed only when run again: "  # behind a case that contrib/check --tap tells so
TAP = re.compile(r"^(1\.\.\d|(not )?ok\b|skip [^:]+: )", re.MULTILINE)


def gtest_cases(output):
    """Cases of a googletest program. One that began and did not end (a crash, a timeout) has failed."""
    cases, running, said = [], None, []
    for line in output.splitlines():
        begins, ends = GTEST_RUN.search(line), GTEST_END.search(line)
        if begins:
            running, said = begins[1], []
        elif ends and ends[2] == running:
            cases.append(Case(running, GTEST_OUTCOME[ends[1]], " ".join(said)[:300] if ends[1] != "OK" else ""))
            running = None
        elif line.strip():
            said.append(line.strip())
    if running:
        cases.append(Case(running, FAILED, "the program stopped in it"))
    return cases


def tap_cases(output):
    """Cases of a TAP producer, with or without a plan; fewer or more cases than planned is a failure of its own.

    Beside `ok NAME # SKIP reason` it may say `skip NAME: reason`.
    """
    cases, planned = [], None
    for line in output.splitlines():
        plan, found, skipped = TAP_PLAN.match(line), TAP_CASE.match(line), TAP_SKIP.match(line)
        if plan:
            planned = int(plan[1])
            if planned == 0:
                return cases + [Case("everything", SKIPPED, plan[2] or "no reason given")]
        elif found:
            failed, number, name, directive, reason = found.groups()
            outcome = FAILED if failed else SKIPPED if (directive or "").lower() == "skip" else PASSED
            cases.append(Case(name.strip() or f"case {number}", outcome, reason or ""))
        elif skipped:
            cases.append(Case(skipped[1], SKIPPED, skipped[2]))
        elif line.startswith(TAP_UNSTEADY) and cases and cases[-1].outcome == PASSED:
            cases[-1].unsteady, cases[-1].reason = True, line.removeprefix(TAP_UNSTEADY)
        elif line.startswith("#") and cases and cases[-1].outcome == FAILED and len(cases[-1].reason) < 300:
            cases[-1].reason += line[1:]
        elif line.startswith("Bail out!"):
            cases.append(Case("the rest", FAILED, line))
    if planned is not None and planned != len(cases):
        cases.append(Case("the plan", FAILED, f"{len(cases)} cases, planned: {planned}"))
    return cases


def read_cases(program, status, output):
    """The cases of a program that ended with `status` (None: it was stopped for taking too long)."""
    if GTEST_BANNER in output:
        cases = gtest_cases(output)
    elif TAP.search(output):
        cases = tap_cases(output)
    elif status in (0, SKIP_STATUS):
        last = (output.strip().splitlines() or ["no reason given"])[-1]
        return [Case(program, PASSED if status == 0 else SKIPPED, last if status else "")]
    else:
        cases = []
    for case in cases:
        case.name = f"{program}: {case.name}"
    if status != 0 and not any(case.outcome == FAILED for case in cases):
        cases.append(Case(program, FAILED, "took too long" if status is None else f"exit status {status}"))
    if not cases:
        cases.append(Case(program, FAILED, "it ran no test"))
    return cases
