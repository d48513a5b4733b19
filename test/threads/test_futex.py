#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the futex calls of warm allreduces: fewer than one per operation and rank, in every algorithm. The service
thread may meet a caller at each of its ticks, of which there are more the slower the machine is just now.

The ranks are processes, so that threads of other ranks do not count, and strace looks at them only while the operations
run. Prints TAP.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 4
OPERATIONS = 300 if "NEZHA_LONG" in os.environ else 100
TICK = 0.01  # seconds, of the service thread
CASES = [("auto", 8), ("auto", 65536), ("ring", 4096), ("ring", 1048576), ("mesh", 4096), ("mesh", 262144),
         ("single_step", 8), ("single_step", 32768), ("doubling", 8), ("doubling", 32768),
         ("halving", 32768), ("halving", 1048576)]
PROGRAM = os.path.join(os.environ.get("NEZHA_BUILD_DIR", "."), "test", "threads", "processes")


def why_not():
    """Why nothing can be counted here, or an empty text."""
    if not os.access(PROGRAM, os.X_OK):
        return f"{PROGRAM} is not built"
    if not shutil.which("strace"):
        return "strace is not installed"
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        tracer = subprocess.Popen(["strace", "-p", str(sleeper.pid)], stderr=subprocess.PIPE, text=True)
        line = tracer.stderr.readline()
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
        return "" if "attached" in line else f"strace may not look at other processes here ({line.strip()})"
    finally:
        sleeper.kill()
        sleeper.wait()


class Tracer:
    """Counts the futex calls of running processes, all their threads included."""

    def __init__(self, pids, log):
        self.log = log
        command = ["strace", "-f", "-c", "-e", "trace=futex", "-o", log]
        for pid in pids:
            command += ["-p", pid]
        self.child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for _ in pids:
            line = self.child.stderr.readline()
            if "attached" not in line:
                self.child.kill()
                raise RuntimeError(f"strace did not attach: {line.strip()}")

    def calls(self):
        """Ends the count and returns it."""
        self.child.send_signal(signal.SIGINT)
        self.child.communicate()
        with open(self.log, encoding="utf-8") as text:
            found = re.search(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) .*\bfutex$", text.read(), re.MULTILINE)
        return int(found[1]) if found else 0


def count(algorithm, size, log):
    """Futex calls, and how many of the service thread's ticks there were, per operation and rank."""
    command = [PROGRAM, str(RANKS), str(OPERATIONS), str(size), f"algorithm={algorithm}", "single_node=2", "learn=0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        ready = program.stdout.readline().split()
        if not ready or ready[0] != "ready":
            raise RuntimeError(f"the ranks did not start: {ready}")
        tracer = Tracer(ready[1:], log)
        began = time.monotonic()
        program.stdin.write("go\n")
        program.stdin.flush()
        done = program.stdout.readline()
        ticks = (time.monotonic() - began) / TICK
        calls = tracer.calls()
        program.stdin.write("end\n")
        program.stdin.close()
        if done != "done\n" or program.wait() != 0:
            raise RuntimeError("a rank failed or got a wrong sum")
    return calls / OPERATIONS / RANKS, ticks / OPERATIONS


def main():
    reason = why_not()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    print(f"1..{len(CASES)}", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (algorithm, size) in enumerate(CASES, 1):
            try:
                calls, ticks = count(algorithm, size, os.path.join(folder, "strace"))
                good, said = calls < 1 + ticks, f"{calls:.3f} futex calls and {ticks:.3f} ticks per operation"
            except RuntimeError as error:
                good, said = False, str(error)
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {algorithm}, {size} bytes")
            print(f"# {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
