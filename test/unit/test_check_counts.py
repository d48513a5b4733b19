#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How contrib/check counts: what it reads out of googletest's lines, of TAP and of exit statuses. Prints TAP."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "contrib", "python"))
from nezha_check.formats import TAP_UNSTEADY, read_cases  # noqa: E402
from nezha_check.results import failures_of_skips, with_second_chance  # noqa: E402

GTEST = """[==========] Running 3 tests from 1 test suite.
[ RUN      ] Ring.Sums
[       OK ] Ring.Sums (0 ms)
[ RUN      ] Types/Ring.Wraps/1
ring.cc:12: Failure
[  FAILED  ] Types/Ring.Wraps/1, where GetParam() = 3 (0 ms)
[ RUN      ] Ring.NeedsTwoCores
ring.cc:30: Skipped
only one core
[  SKIPPED ] Ring.NeedsTwoCores (0 ms)
[  FAILED  ] Types/Ring.Wraps/1, where GetParam() = 3
"""
GTEST_CRASH = """[==========] Running 2 tests from 1 test suite.
[ RUN      ] Ring.Sums
noise on the line of the result [       OK ] Ring.Sums (0 ms)
[ RUN      ] Ring.Crashes
"""
TAP = "1..4\nok 1 - adds\nnot ok 2 - multiplies\n# 6, not 7\nok 3 - divides # SKIP no divider\nok\n"
LEAK = "[==========] Running 1 test\n[ RUN      ] A.B\n[       OK ] A.B (0 ms)\nERROR: LeakSanitizer\n"

# what it is, exit status (None: too slow), output, the outcomes in order, a word that one of the reasons has
SAMPLES = [
    ("googletest", 1, GTEST, "passed failed skipped", "only one core"),
    ("googletest that crashes", -11, GTEST_CRASH, "passed failed", "stopped in it"),
    ("googletest that leaks at its end", 23, LEAK, "passed failed", "exit status 23"),
    ("googletest without tests", 0, "[==========] Running 0 tests from 0 test suites.\n", "failed", "no test"),
    ("TAP", 1, TAP, "passed failed skipped passed", "6, not 7"),
    ("TAP that fails unannounced", 1, "1..1\nok 1\n", "passed failed", "exit status 1"),
    ("TAP cut short", 0, "1..3\nok 1\nok 2\n", "passed passed failed", "planned: 3"),
    ("TAP without a plan, stopped", None, "ok 1\n", "passed failed", "took too long"),
    ("TAP without numbers", 1, "ok a.B.c\nnot ok a.B.d\n# no\nskip a.B.e: needs root\n", "passed failed skipped", "needs root"),
    ("TAP with the plan last", 0, "ok 1\nok 2\n1..2\n", "passed passed", ""),
    ("TAP that skips all", 0, "1..0 # SKIP needs root\n", "skipped", "needs root"),
    ("TAP that bails out", 1, "1..2\nok 1\nBail out! no lab\n", "passed failed", "no lab"),
    ("exit status 0", 0, "fine\n", "passed", ""),
    ("exit status 77", 77, "no such device\n", "skipped", "no such device"),
    ("exit status 2", 2, "", "failed", "exit status 2"),
    ("too slow", None, "", "failed", "took too long"),
]


# what it is, the first run and the second (exit status and output), the outcomes after both, what is unsteady
CHANCES = [
    ("passes when run again", (1, "ok a\nnot ok b\n# lost\n"), (0, "ok a\nok b\n"), "passed passed", ["program: b"]),
    ("fails again", (1, "ok a\nnot ok b\n# lost\n"), (1, "ok a\nnot ok b\n"), "passed failed", []),
    ("fails elsewhere when run again", (1, "ok a\nnot ok b\n"), (1, "not ok a\nok b\n"), "failed passed", ["program: b"]),
    ("stops the second time", (1, "ok a\nnot ok b\n"), (None, "ok a\n"), "passed failed", []),
    ("is quick enough when run again", (None, "ok a\n"), (0, "ok a\nok b\n"), "passed passed passed", ["program"]),
]


def sample(what, status, output, outcomes, reason):
    cases = read_cases("program", status, output)
    found = " ".join(case.outcome for case in cases)
    return what, found == outcomes and any(reason in case.reason for case in cases), cases


def chance(what, first, again, outcomes, unsteady):
    cases = with_second_chance(read_cases("program", *first), read_cases("program", *again))
    found = " ".join(case.outcome for case in cases)
    return what, found == outcomes and [case.name for case in cases if case.unsteady] == unsteady, cases


def main():
    strict = failures_of_skips(read_cases("program", 0, "1..2\nok 1\nok 2 # SKIP no root\n"))
    told = read_cases("program", 0, f"1..2\nok 1 - a\n{TAP_UNSTEADY}lost\nok 2 - b\n")
    results = [sample(*entry) for entry in SAMPLES] + [chance(*entry) for entry in CHANCES] + [
        ("a skip that counts as a failure",
         [case.outcome for case in strict] == ["passed", "failed"] and "no root" in strict[1].reason, strict),
        ("what another check says that passed only when run again",
         [(case.outcome, case.unsteady, case.reason) for case in told] == [("passed", True, "lost"), ("passed", False, "")], told)]
    print(f"1..{len(results)}")
    for number, (what, right, cases) in enumerate(results, 1):
        print(f"{'ok' if right else 'not ok'} {number} - {what}")
        if not right:
            print(f"# {cases}")


main()
