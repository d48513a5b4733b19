# SPDX-License-Identifier: BSD-3-Clause
"""Letting the nodes use cubic, as clusters do, on a machine whose default is something else.

A network namespace may only take an algorithm that the machine allows to everybody. Root adds cubic to that list for
the moment in which the nodes take it, and puts the list back; without root the nodes take what the machine allows.
"""

import contextlib
import fcntl
import os

_ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"


@contextlib.contextmanager
def cubic_allowed(lock_path):
    """Two labs may come up at once: the lock keeps one from putting back the list while the other needs it."""
    if os.geteuid() != 0 or not os.access(_ALLOWED, os.W_OK):
        yield
        return
    with open(lock_path, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = _read()
        if "cubic" in before.split():
            fcntl.flock(lock, fcntl.LOCK_UN)
            yield
            return
        written = _write(before + " cubic")
        try:
            yield
        finally:
            if written:
                _write(before)


def _read():
    with open(_ALLOWED, encoding="ascii") as file:
        return file.read().strip()


def _write(value):
    try:
        with open(_ALLOWED, "w", encoding="ascii") as file:
            file.write(value)
        return True
    except OSError:
        return False
