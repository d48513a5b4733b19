# SPDX-License-Identifier: BSD-3-Clause
"""Which processes are in a lab, by their namespaces, and ending them by pid."""

import collections
import os
import signal
import time

LabProcess = collections.namedtuple("LabProcess", "pid node program")

MARK = "NEZHA_LAB_JOB"


def start_time(pid):
    """Ticks since boot, which with the pid names a process for good; None when there is none or it is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def net_inode(pid):
    """The identity of the network namespace of a process; None when it is gone or not ours to look at."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def _all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def in_namespaces(inodes, but=()):
    """{pid: inode} of the processes whose network namespace is one of inodes."""
    found = {pid: net_inode(pid) for pid in _all_pids() if pid not in but}
    return {pid: inode for pid, inode in found.items() if inode in inodes}


def marked(mark):
    """Processes that were started with MARK=mark, or a mark below it, in their environment."""
    wanted = f"{MARK}={mark}".encode()
    return [pid for pid in _all_pids() if any(
        entry == wanted or entry.startswith(wanted + b"/") for entry in _read(pid, "environ").split(b"\0"))]


def program(pid):
    """The file name of the program, without its directory."""
    first = _read(pid, "cmdline").split(b"\0")[0] or _read(pid, "comm").strip()
    return os.path.basename(first.decode(errors="replace"))


def _read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def kill_until_none(find, seconds=5.0):
    """Kills what find() returns until it returns nothing; a process that forks meanwhile is met in the next round."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pids = [pid for pid in find() if start_time(pid) is not None]
        if not pids:
            return True
        for pid in pids:
            send(pid, signal.SIGKILL)
        time.sleep(0.01)
    return False


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
