#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# long
"""A failing seed is made shorter, and what comes of it fails again in the same way: with a simulator that is known to be
spoiled. Prints TAP."""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mutants import built, simulator  # noqa: E402
from mutations import MUTATIONS  # noqa: E402

MUTATION = "no replay of what a dead lane had"
OPERATIONS = "20000"
SEED = "20"  # of a world that fails long before its last call, so that there is something to leave out
FAILED = re.compile(r"seed (\d+) with (\d+) calls FAILED after \S+ s and (\d+) faults", re.ASCII)
REPLAY = re.compile(r"replay it by: sim_run --seed (\d+) --calls (\d+) --faults (\d+) --talk", re.ASCII)


def run(program, *options):
    """(exit status, what it said)"""
    done = subprocess.run([program, *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return done.returncode, done.stdout


def numbers(pattern, said):
    found = pattern.search(said)
    if found is None:
        raise ValueError(f"'{pattern.pattern}' is not in what it said: {said[-500:]}")
    return tuple(map(int, found.groups()))


def verdicts(mutant, whole):
    """(what must hold, whether it does)"""
    status, said = run(mutant, "--shorten", "--seed", SEED, "--operations", OPERATIONS)
    seed, calls, faults = numbers(REPLAY, said)
    failed = numbers(FAILED, said)
    scope = ("--seed", seed, "--calls", calls, "--faults", faults)
    first = run(mutant, *scope, "--talk")
    yield "a failing seed is found, and named", status == 1 and failed[0] == seed
    yield "fewer calls and faults are left of it", calls < failed[1] and faults < failed[2]
    yield "with them it fails", first[0] == 1 and numbers(FAILED, first[1])[0] == seed
    yield "again in the same way, line by line", run(mutant, *scope, "--talk") == first
    yield "with one call less it does not fail", run(
        mutant, "--seed", seed, "--calls", calls - 1, "--faults", faults, "--talk")[0] == 0
    yield "nor with the engine as it is", run(whole, *scope, "--talk")[0] == 0


def main():
    whole = simulator()
    path, changes = next((path, changes) for name, path, changes in MUTATIONS if name == MUTATION)
    good, count = True, 0
    with tempfile.TemporaryDirectory(prefix="nezha-mutant-") as folder:
        for count, (what, holds) in enumerate(verdicts(built(folder, path, changes), whole), 1):
            print(f"{'ok' if holds else 'not ok'} {count} - {what}", flush=True)
            good = good and holds
    print(f"1..{count}")
    return 0 if good and count else 1


if __name__ == "__main__":
    sys.exit(main())
