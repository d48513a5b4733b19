# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of others under the same fault: nobody else survives it, so one try each, and not for ever."""

import subprocess
import time

from .calls import CallJob

PATIENCE = 20.0


def open_mpi(lab, programs, size, trigger, verb, ppn):
    """Over all rails."""
    with CallJob(lab, programs.calls, size, incumbent_rails="all", nezha=False, ppn=ppn) as job:
        job.settle(nezha=False)
        fault = trigger.pull_inside(job, verb, [1])
        done = lambda: any(call.end > fault + 0.001 for call in job.calls)
        while not done() and job.ended is None and time.monotonic() - fault < PATIENCE:
            time.sleep(0.01)
        outcome = _outcome(done(), job.ended, fault)
    trigger.pull({"cut": "heal", "silence": "speak"}[verb], [1])
    return outcome


def gloo(lab, programs, size, trigger, verb):
    """It prints a size's row when all calls of it are done: either that comes, or the job ends, or nothing happens."""
    rails = ",".join(f"eth{rail}" for rail in range(lab.spec.rails))
    shares = ",".join("1" for _ in range(lab.spec.rails))
    command = [programs.gloo, "--rails", rails, "--shares", shares, "--json", "-s", size, "-T", "6"]
    job = lab.popen(command, np=lab.spec.nodes, incumbent_rails="mgmt", nezha=False, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        job.stdout.readline()
        time.sleep(3)
        fault = trigger.pull(verb, [1])
        try:
            rows = [line for line in job.communicate(timeout=PATIENCE)[0].splitlines() if '"size"' in line]
            outcome = _outcome(job.returncode == 0 and bool(rows), time.monotonic(), fault)
        except subprocess.TimeoutExpired:
            outcome = _outcome(False, None, fault)
    finally:
        job.end()
        job.stdout.close()
    trigger.pull({"cut": "heal", "silence": "speak"}[verb], [1])
    return outcome


def _outcome(done, ended, fault):
    if done:
        return "goes on"
    if ended is not None:
        return f"the job ends after {ended - fault:.1f} s"
    return f"no call ends within {PATIENCE:g} s"
