#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many simulated operations, on all cores: each process goes through seeds of its own. Prints TAP.

NEZHA_QUICK in the environment: fewer; NEZHA_LONG: a million.
"""

import os
import subprocess
import sys

BUILD = os.environ.get("NEZHA_BUILD_DIR") or os.getcwd()
OPERATIONS = 5000 if "NEZHA_QUICK" in os.environ else 1000000 if "NEZHA_LONG" in os.environ else 100000
SEEDS_APART = 10000000


def start(which, processes):
    return subprocess.Popen([os.path.join(BUILD, "test", "sim", "sim_run"), "--shorten",
                             "--seed", str(1 + (which + 1) * SEEDS_APART), "--operations", str(OPERATIONS // processes)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    processes = len(os.sched_getaffinity(0))
    print(f"1..{processes}", flush=True)
    good = True
    for number, run in enumerate([start(which, processes) for which in range(processes)], 1):
        said = run.communicate()[0].strip().splitlines()
        print(f"{'not ' if run.returncode else ''}ok {number} - {said[0] if said and not run.returncode else 'seeds'}")
        print("".join(f"# {line}\n" for line in said), end="", flush=True)
        good = good and run.returncode == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
