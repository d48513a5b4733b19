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
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def _stat(pid):
    """The fields of /proc/PID/stat from the state on; empty when there is no process or it is a zombie."""
    fields = _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()
    return [] if fields[:1] in (["Z"], ["X"]) else fields


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


def in_session(leader):
    """Processes of the session that `leader` began, in whatever process group they are."""
    return [pid for pid in _all_pids() if _stat(pid)[3:4] == [str(leader)]]


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
    """Nothing happens where the process is gone, or another user's."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
