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
def cubic_allowed():
    """Two labs may come up at once: the lock keeps one from putting back the list while the other needs it."""
    if os.geteuid() != 0 or not os.access(_ALLOWED, os.W_OK):
        yield
        return
    with open(_ALLOWED, encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = file.read().strip()
        written = "cubic" not in before.split() and _write(before + " cubic")
        try:
            yield
        finally:
            if written:
                _write(before)


def _write(value):
    """False on a kernel without cubic, or in a container that may not."""
    try:
        with open(_ALLOWED, "w", encoding="ascii") as file:
            file.write(value)
        return True
    except OSError:
        return False
