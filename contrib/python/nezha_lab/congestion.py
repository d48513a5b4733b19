# SPDX-License-Identifier: BSD-3-Clause
"""Letting the nodes use cubic, as clusters do, on a machine whose default is something else.

A network namespace may only take an algorithm that the machine allows to everybody. Root adds cubic to that list for
the moment in which the nodes take it, and puts the list back; without root the nodes take what the machine allows.
The list cannot be opened from another network namespace, so the owner opens it and hands it to the keeper, which
puts it back even when the owner is killed meanwhile.
"""

import contextlib
import fcntl
import os

ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"


@contextlib.contextmanager
def allowed_list():
    """A descriptor of the list for the keeper to inherit; None where it cannot be changed."""
    try:
        descriptor = os.open(ALLOWED, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def cubic_allowed(descriptor):
    """Two labs may come up at once: the lock keeps one from putting back the list while the other needs it."""
    if descriptor is None:
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    before = os.pread(descriptor, 4096, 0)
    written = b"cubic" not in before.split() and _write(descriptor, before.strip() + b" cubic")
    try:
        yield
    finally:
        if written:
            _write(descriptor, before)
        os.close(descriptor)


def _write(descriptor, value):
    """False on a kernel without cubic."""
    try:
        os.pwrite(descriptor, value, 0)
        return True
    except OSError:
        return False
