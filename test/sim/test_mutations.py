#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The simulator itself is tested: with each of the mutations of mutations.py, and no other change, its ordinary run has
to fail. Prints TAP. In a check that is not long only whether they fit the sources.

test_mutations.py [WORDS]   only those whose name has WORDS; then what the simulator says is printed too
"""

import concurrent.futures
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mutants import built, mutated, simulator  # noqa: E402
from mutations import MUTATIONS, NODE_MUTATIONS, SERVICE_MUTATIONS, SERVICE_NODE_MUTATIONS  # noqa: E402

TIMEOUT = 600  # s
SERVICE = ("--service", "--calls", "60")
NODES = ("--nodes",)
KINDS = [(MUTATIONS, ()), (SERVICE_MUTATIONS, SERVICE), (NODE_MUTATIONS, NODES), (SERVICE_NODE_MUTATIONS, (*SERVICE, *NODES))]
ALL = [mutation for mutations, _ in KINDS for mutation in mutations]
OPERATIONS = "100000"  # as many as contrib/check runs of the engine as it is; most mutations show within a tenth


def noticed(program, options):
    """What the simulator says of a mutant, '' when it sees nothing wrong."""
    with subprocess.Popen([program, "--operations", OPERATIONS, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as run:
        said = ""
        for line in run.stdout:
            said += line
            if "FAILED" in line:
                run.kill()
                return line.strip()
        return "" if run.wait(TIMEOUT) == 0 else f"status {run.returncode}: {said.strip()[-300:]}"


def judge(mutation):
    """(whether the simulator noticed, what is to be said about it)"""
    _, path, changes = mutation
    with tempfile.TemporaryDirectory(prefix="nezha-mutant-") as folder:
        try:
            options = next(options for mutations, options in KINDS if mutation in mutations)
            said = noticed(built(folder, path, changes), options)
        except ValueError as error:
            return False, str(error)
    return bool(said), said or "the simulator sees nothing wrong"


def only_fit():
    """What a short check does: mutations that no longer fit the sources would be found by a long one only."""
    good = True
    print(f"1..{len(ALL)}", flush=True)
    for name, path, changes in ALL:
        try:
            mutated(path, changes)
            print(f"ok - {name}: fits")
        except ValueError as error:
            good = False
            print(f"not ok - {name}: fits\n# {error}")
    return 0 if good else 1


def main():
    if "NEZHA_CHECK" in os.environ and "NEZHA_LONG" not in os.environ:
        return only_fit()
    wanted = [mutation for mutation in ALL if len(sys.argv) < 2 or sys.argv[1] in mutation[0]]
    print(f"1..{len(wanted)}", flush=True)
    simulator()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        good = True
        for (name, _, _), (fine, said) in zip(wanted, pool.map(judge, wanted)):
            print(f"{'ok' if fine else 'not ok'} - {name}", flush=True)
            if not fine or len(sys.argv) > 1:
                print("".join(f"# {line}\n" for line in said.splitlines()), end="", flush=True)
            good = good and fine
    return 0 if good and wanted else 1


if __name__ == "__main__":
    sys.exit(main())
