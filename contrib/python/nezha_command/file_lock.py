# SPDX-License-Identifier: BSD-3-Clause
"""The lock of a file that is read, changed and replaced, as the component takes it (components/util/file_lock.h)."""

import contextlib
import errno
import fcntl
import os
import time

from nezha_bench.files import follow_links

from .errors import CommandError

_PATIENCE = 10  # seconds
_PAUSE = 0.05
_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_LOST = (errno.EWOULDBLOCK, errno.EINTR, errno.ESTALE)


@contextlib.contextmanager
def alone_with(path):
    """Inside, no other process that takes the lock changes the file. Raises CommandError when the lock cannot be had."""
    try:
        lock = follow_links(path) + ".lock"
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    file = _wait_for(lock)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock)
        os.close(file)


def _wait_for(lock):
    for _ in range(round(_PATIENCE / _PAUSE)):
        file = _try(lock)
        if file is not None:
            return file
        time.sleep(_PAUSE)
    raise CommandError(f"another process has {lock}, for {_PATIENCE} s now")


def _try(lock):
    """The descriptor of the lock, None while another process has it."""
    try:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise CommandError(f"{lock} cannot be made: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _leads_to(lock, file):
            return file
    except OSError as error:
        if error.errno in _WITHOUT_LOCKS:
            return file
        if error.errno not in _LOST:
            os.close(file)
            raise CommandError(f"{lock} cannot be made: {error.strerror}") from None
    os.close(file)
    return None


def _leads_to(path, file):
    """Whether the path still leads to the open file: an owner that was done has perhaps removed it."""
    try:
        again = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return os.path.samestat(os.fstat(again), os.fstat(file))
    finally:
        os.close(again)
