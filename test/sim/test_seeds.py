#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many simulated operations, on all cores, in worlds of several kinds: each range of seeds is a test. Prints TAP. Of these
operations a million, or 10^5, are in worlds with aggregation services, and more than that in worlds with networks for RDMA.

NEZHA_QUICK in the environment: fewer; NEZHA_LONG: a million. The seeds are the same on every machine, however many cores
it has.
"""

import concurrent.futures
import os
import subprocess
import sys

BUILD = os.environ.get("NEZHA_BUILD_DIR") or os.getcwd()
OPERATIONS = 5000 if "NEZHA_QUICK" in os.environ else 1000000 if "NEZHA_LONG" in os.environ else 100000
RANGES = 8
SERVICE = ("--service", "--calls", "60")
KINDS = [((), 0.2), (("--rdma",), 0.65), (SERVICE, 1), ((*SERVICE, "--nodes"), 0.2)]  # and their parts
SEEDS_APART = 10000000


def run(which, kind, part):
    first = 1 + (which + 1) * SEEDS_APART
    return subprocess.run([os.path.join(BUILD, "test", "sim", "sim_run"), "--shorten", "--seed", str(first),
                           "--operations", str(int(part * OPERATIONS) // RANGES), *kind],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def main():
    ranges = [(which, kind, part) for kind, part in KINDS for which in range(RANGES)]
    print(f"1..{len(ranges)}", flush=True)
    good = True
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for number, done in enumerate(pool.map(run, *zip(*ranges)), 1):
            said = done.stdout.strip().splitlines()
            print(f"{'not ' if done.returncode else ''}ok {number} - {said[0] if said and not done.returncode else 'seeds'}")
            print("".join(f"# {line}\n" for line in said), end="", flush=True)
            good = good and done.returncode == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
