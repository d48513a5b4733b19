# SPDX-License-Identifier: BSD-3-Clause
"""A program in a session of its own, whose output is read for a limited time, and which is ended with all that it started.

The session holds also what has another process group, such as the ssh of mpirun, which keeps the program's output open.
"""

import os
import selectors
import signal
import subprocess
import time

from nezha_lab import processes

_LOOK = 0.2  # seconds between two looks whether the program has ended
_REST = 2.0  # seconds for what is left of the output when the program has ended, and others have it open
_ASKED = 10.0  # seconds to end after SIGTERM


class Session(subprocess.Popen):
    """As a context it ends the session when it is left, however that is. expired: it took more time than lines() gave it."""

    def __init__(self, words, **options):
        self.expired = False
        self._deadline = 0.0
        super().__init__(words, start_new_session=True, **options)

    def __exit__(self, *_):
        self.end()
        self.stdout.close()

    def within(self, seconds):
        """From now on this is the limit of lines()."""
        self._deadline = time.monotonic() + seconds

    def lines(self, seconds):
        """What it writes on standard output, a pipe of bytes, until that is closed and the program has ended, or these seconds
        are over."""
        self.within(seconds)
        rest = b""
        for part in self._parts():
            *whole, rest = (rest + part).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
        if rest:
            yield rest.decode(errors="replace")
        self._await_end()

    def _parts(self):
        ended = None
        with selectors.DefaultSelector() as selector:
            selector.register(self.stdout, selectors.EVENT_READ)
            while time.monotonic() < min(self._deadline, ended or self._deadline):
                if selector.select(min(_LOOK, max(0.0, self._deadline - time.monotonic()))):
                    part = os.read(self.stdout.fileno(), 1 << 16)
                    if not part:
                        return
                    yield part
                elif ended is None and self.poll() is not None:
                    ended = time.monotonic() + _REST

    def _await_end(self):
        try:
            self.wait(max(0.0, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.expired = True

    def end(self):
        """Asks for the end, waits, then kills what is left. A further interruption only shortens the wait."""
        try:
            if self.poll() is None:
                os.killpg(self.pid, signal.SIGTERM)
                self.wait(_ASKED)
        except (subprocess.TimeoutExpired, PermissionError):
            pass
        finally:
            processes.kill_until_none(lambda: processes.in_session(self.pid))
            self.poll()
