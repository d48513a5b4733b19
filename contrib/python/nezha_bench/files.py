# SPDX-License-Identifier: BSD-3-Clause
"""Files that a command line names for results: checked before anything is measured, and written when there is something.

What was measured is not lost when its file cannot be written after all: then it goes to another place, which is named.
"""

import argparse
import contextlib
import errno
import os
import stat
import sys
import tempfile

PICTURES = (".png", ".svg", ".pdf")
_SCRATCH = ".nezha-"
_MOST_LINKS = 40  # as in the kernel
_SHARED = stat.S_ISVTX | stat.S_IWOTH
# {path: where its content went instead}, so that later contents of the path replace earlier ones there, too.
_elsewhere = {}


def follow_links(path):
    """Where the symbolic links lead to that the path ends in (components/util/file.h). Raises OSError, as for links of other users
    where everyone may make some: whoever knows the name could have any file of ours replaced."""
    for _ in range(_MOST_LINKS + 1):
        if not os.path.islink(path):
            return path
        directory = os.path.dirname(path)
        place, owner = os.stat(directory or "."), os.lstat(path).st_uid
        if place.st_mode & _SHARED == _SHARED and owner not in (os.geteuid(), place.st_uid):
            raise PermissionError(errno.EACCES, f"it leads over {path}, another user's link where everyone may make one")
        path = os.path.join(directory, os.readlink(path))
    raise OSError(errno.ELOOP, "it leads over too many links")


def is_no_file(path):
    """Whether a pipe, a device or a directory has that name."""
    return os.path.exists(path) and not os.path.isfile(path)


def replaceable(path):
    """For argparse: a file that write() can make or replace. Leaves no file, and does not change one that is there."""
    if is_no_file(path):  # a device would be replaced, too, and a pipe wait for its reader
        raise argparse.ArgumentTypeError(f"'{path}': it is no regular file")
    reason = _why_not(path)
    if reason:
        raise argparse.ArgumentTypeError(f"'{path}' cannot be written: {reason}")
    return path


def picture(path):
    """For argparse: replaceable(), and the suffix names a format."""
    replaceable(path)
    if os.path.splitext(path)[1].lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"'{path}': names that end in {', '.join(PICTURES)} are allowed")
    return path


def _why_not(path):
    try:
        target = follow_links(path)
    except OSError as error:
        return error.strerror
    if os.path.exists(target):
        try:
            os.close(os.open(target, os.O_WRONLY))
        except OSError as error:
            return error.strerror
        return ""
    try:
        descriptor, scratch = tempfile.mkstemp(prefix=_SCRATCH, dir=os.path.dirname(target))
    except OSError as error:
        return error.strerror
    os.close(descriptor)
    os.unlink(scratch)
    return ""


def write(path, content, refused=lambda scratch: None):
    """Makes `content` (text or bytes) the whole file, in one step where the directory allows it. Returns whether that worked; if
    not, the content is kept elsewhere, and standard error says where and why.

    What UTF-8 cannot have, as of names of files that are in another encoding, becomes a question mark. refused(scratch) may give a
    reason why a file with this content, at another place, must not take the path.
    """
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        reason = _replace(follow_links(path), data, refused)
    except OSError as error:
        reason = error.strerror or str(error)
    if not reason:
        return True
    keep(path, data, f"{path} cannot be written: {reason}")
    return False


def keep(path, data, why):
    """Writes what was meant for `path` into the directory for temporary files or, where that fails, to standard output."""
    where = _elsewhere.get(path)
    try:
        if where is None:
            descriptor, where = tempfile.mkstemp(prefix="nezha-", suffix=f"-{os.path.basename(path)[-100:]}")
            os.close(descriptor)
        _fill(where, data)
        _elsewhere[path] = where
    except OSError as error:
        print(f"{why}; nor can {tempfile.gettempdir()}: {error.strerror}. The content follows on standard output", file=sys.stderr)
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    print(f"{why}. What was to be in it is in {where}", file=sys.stderr)


def _replace(target, data, refused):
    """'' or the reason of `refused`."""
    try:
        descriptor, scratch = tempfile.mkstemp(prefix=_SCRATCH, dir=os.path.dirname(target))
    except OSError:
        if not os.path.exists(target):
            raise
        _fill(target, data)  # only the file itself may be written
        return ""
    try:
        _take_after(target, descriptor)
        os.close(descriptor)
        _fill(scratch, data)
        reason = refused(scratch)
        if not reason:
            try:
                os.replace(scratch, target)
            except OSError:  # as where the file is a mount point
                if not os.path.exists(target):
                    raise
                _fill(target, data)
        return reason or ""
    finally:
        if os.path.exists(scratch):
            os.unlink(scratch)


def _take_after(target, descriptor):
    """Owner, if the system lets this process give files away, and mode of the file whose place it is to take; of none, what the umask
    leaves."""
    try:
        before = os.stat(target)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        return
    with contextlib.suppress(OSError):
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, before.st_mode & 0o777)


def _fill(path, data):
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
