# SPDX-License-Identifier: BSD-3-Clause
"""How commands end that use a lab: by a signal, and with an error."""

import signal
import sys

from .errors import LabError, LabUnavailable

# What automake takes for a skipped test.
EXIT_UNAVAILABLE = 77
# A shell's way of telling a signal: what a command ends with that Ctrl-C has ended.
EXIT_INTERRUPTED = 128 + signal.SIGINT


def _leave(number, _frame):
    raise SystemExit(128 + number)


def leave_on_signals():
    """From here on SIGTERM and SIGHUP unwind the stack, as Ctrl-C does, so that what was set up is taken down."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)


def exit_status(command, run, *errors):
    """What run() returns. A lab's error, or one of `errors`, becomes a line that names the command, and its status."""
    try:
        return run()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except LabUnavailable as error:
        status, text = EXIT_UNAVAILABLE, error
    except (LabError, *errors) as error:
        status, text = 1, error
    print(f"{command}: {text}", file=sys.stderr)
    return status
