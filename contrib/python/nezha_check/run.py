# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs with a deadline, output to a log, nothing left running."""

import concurrent.futures
import dataclasses
import os
import signal
import subprocess
import threading
import time

from nezha_check.formats import read_cases
from nezha_check.results import FAILED, count, in_words, with_second_chance


@dataclasses.dataclass
class Test:
    """A test program and how to run it: `timeout` in seconds, `log` the file that gets all it prints."""

    name: str
    command: list
    log: str
    timeout: float
    env: dict = None
    cwd: str = None
    second_chance: bool = False  # whether it is run again where it fails
    begins_first: bool = False  # since it takes long


running = set()  # children that have not ended, for end_all()
ending = threading.Event()  # whether nothing may be begun any more


def run_logged(command, log, timeout, env=None, cwd=None, append=False):
    """Runs `command`, all it prints goes to `log`. Returns the exit status, None when `timeout` seconds were not enough."""
    return _run(command, log, timeout, env, cwd, append)[0]


def _run(command, log, timeout, env, cwd, append=False):
    """As run_logged(), and how many seconds of processor time it took.

    The command gets a process group of its own, so that whatever it started can be ended with it.
    """
    if ending.is_set():
        raise KeyboardInterrupt
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, "ab" if append else "wb") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                 env=env, cwd=cwd, start_new_session=True)
        running.add(child)
        try:
            used = _processor_time(child, timeout)
            return (None if used is None else child.wait()), used or 0
        finally:
            end_group(child)
            running.discard(child)


def _processor_time(child, timeout):
    """Waits until it ends, but does not take note of that: then its times, and those of all that it has waited for, are still to
    be read. None when that took too long."""
    until = time.monotonic() + timeout
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > until:
            return None
        time.sleep(0.02)
    with open(f"/proc/{child.pid}/stat", encoding="ascii", errors="replace") as file:
        times = file.read().rpartition(")")[2].split()[11:15]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def end_group(child):
    """Ends a child and the processes of its group: politely, then not."""
    for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            break
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    child.poll()


def end_all():
    """Asks all children to end, and sees to it that none begins: for Ctrl-C, which does not reach their process groups."""
    ending.set()
    for child in list(running):
        try:
            os.killpg(child.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


def read_log(log):
    with open(log, encoding="utf-8", errors="replace") as text:
        return text.read()


def run_test(test):
    """Runs one test program and returns its cases; says on the terminal how it went."""
    started = time.monotonic()
    status, used = _run(test.command, test.log, test.timeout, test.env, test.cwd)
    cases = read_cases(test.name, status, read_log(test.log))
    for case in cases:
        case.log = test.log
    print(f"  {test.name}: {in_words(cases)} ({time.monotonic() - started:.1f} s, {used:.1f} of the processor)", flush=True)
    return cases


def run_again(test, first):
    """Gives a failed test its second chance, nothing else running, and returns what holds after both. The first log stays."""
    print(f"  {test.name} has failed and runs again, alone", flush=True)
    stem, extension = os.path.splitext(test.log)
    return with_second_chance(first, run_test(dataclasses.replace(test, log=f"{stem}-again{extension}")))


def run_tests(tests, jobs):
    """Runs tests, `jobs` at once, and returns all cases in the order given."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        in_turn = sorted(tests, key=lambda test: not test.begins_first)
        futures = {test.name: pool.submit(run_test, test) for test in in_turn}
        try:
            found = [futures[test.name].result() for test in tests]
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise
    found = [run_again(test, cases) if test.second_chance and count(cases, FAILED) else cases
             for test, cases in zip(tests, found)]
    return [case for cases in found for case in cases]
