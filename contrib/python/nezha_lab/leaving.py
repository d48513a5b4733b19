# SPDX-License-Identifier: BSD-3-Clause
"""How commands end that use a lab: by a signal, and with an error."""

import contextlib
import errno
import os
import select
import signal
import sys

from .errors import LabError, LabUnavailable

# What automake takes for a skipped test.
EXIT_UNAVAILABLE = 77
# A shell's way of telling a signal: what a command ends with that Ctrl-C has ended.
EXIT_INTERRUPTED = 128 + signal.SIGINT
_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)


def _leave(number, _frame):
    raise SystemExit(128 + number)


def leave_on_signals():
    """From here on SIGTERM and SIGHUP unwind the stack, as Ctrl-C does, so that what was set up is taken down."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)


def output_error(error):
    """Whether an OSError says that what it was written to is full or gone. Standard output is then not tried again when Python
    ends."""
    if not _is_of_writing(error):
        return False
    _silence(sys.stdout)
    return True


def _is_of_writing(error):
    return error.filename is None and error.errno in _OF_WRITING


def _silence(stream):
    """What is written to it from here on is lost, without an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextlib.contextmanager
def quiet_if_lost():
    """Around what is said on standard error: where that is full or gone, nothing comes there any more, and the work goes on."""
    try:
        yield
    except OSError as error:
        if not _is_of_writing(error):
            raise
        _silence(sys.stderr)


def tell(text):
    """Says it on standard error, if that is still there."""
    with quiet_if_lost():
        print(text, file=sys.stderr, flush=True)


def has_reader(stream):
    """False: it is a pipe or a socket whose other end is closed."""
    poll = select.poll()
    poll.register(stream.fileno(), 0)
    return not any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def exit_status(command, run, *errors):
    """What run() returns. A lab's error, or one of `errors`, becomes a line that names the command, and its status; so does
    output that cannot be written, but for a reader that has gone, as head does."""
    try:
        returned = run()
        sys.stdout.flush()
        return returned
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except LabUnavailable as error:
        status, text = EXIT_UNAVAILABLE, error
    except (LabError, *errors) as error:
        status, text = error.status, error
    except OSError as error:
        if not output_error(error):
            raise
        if isinstance(error, BrokenPipeError):
            return 128 + signal.SIGPIPE
        status, text = 1, f"output cannot be written: {error.strerror}"
    tell(f"{command}: {text}")
    return status
