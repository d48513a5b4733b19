# SPDX-License-Identifier: BSD-3-Clause
"""What the lab's tests share: a lab per class, or a skip with the lab's own reason, and traffic through it."""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON_DIR = os.path.join(HERE, "..", "..", "contrib", "python")
LAB_COMMAND = os.path.join(HERE, "..", "..", "contrib", "lab")
sys.path.insert(0, PYTHON_DIR)

from nezha_lab import Lab, LabUnavailable, state  # noqa: E402 (the path must be set first)

# The tests' labs are in a directory of their own, so that others' labs on this machine do not come into it.
STATE_DIR = tempfile.mkdtemp(prefix="nezha-lab-test-")
os.environ[state.DIRECTORY_VARIABLE] = STATE_DIR
atexit.register(shutil.rmtree, STATE_DIR, ignore_errors=True)

TRAFFIC = [sys.executable, os.path.join(HERE, "traffic.py")]
DATAGRAMS = 20


def make_lab(case, **options):
    """An ephemeral lab that is up until the test or class is over."""
    lab = Lab(**options)
    try:
        lab.up(ephemeral=True)
    except LabUnavailable as reason:
        raise unittest.SkipTest(str(reason)) from None
    add = case.addClassCleanup if isinstance(case, type) else case.addCleanup
    add(lab.down)
    return lab


class Listener:
    """traffic.py in a node, receiving; end() tells it to stop, result() is what it counted."""

    def __init__(self, lab, node, verb, address):
        self.process = subprocess.Popen([*lab.nsenter(node), *TRAFFIC, verb, address],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"traffic.py {verb} did not come up in node {node}")

    def result(self):
        return int(self.process.communicate(timeout=30)[0])


def address(lab, node, rail, ipv6=False):
    return (lab.spec.address6 if ipv6 else lab.spec.address)(node, rail)[0]


def delivered(lab, source, target, rail, ipv6=False):
    """How many of DATAGRAMS sent from one node arrive at another over a rail."""
    where = address(lab, target, rail, ipv6)
    listener = Listener(lab, target, "count", where)
    lab.exec(source, [*TRAFFIC, "send", where, str(DATAGRAMS)], check=True)
    return listener.result()


def eventually(condition, seconds=10):
    """For what the system does in its own time, such as reaping; true as soon as condition() is."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def heed_ctrl_c():
    """In a child before it runs: a check in the background of a shell's script ignores SIGINT, and its children with it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def script(directory, name, text):
    """The path of a shell's script in the place of a program."""
    path = os.path.join(directory, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)
    return path


def lab_processes():
    """Every process that was started with the tests' state directory: keepers, nodes, and what runs in them."""
    wanted = f"{state.DIRECTORY_VARIABLE}={STATE_DIR}".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def run_lab(*arguments, **options):
    return subprocess.run([sys.executable, LAB_COMMAND, *arguments], capture_output=True, text=True,
                          timeout=60, **options)
