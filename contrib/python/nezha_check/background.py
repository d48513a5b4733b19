# SPDX-License-Identifier: BSD-3-Clause
"""What takes processors but no heed of time, done while the tests of others wait for networks."""

import concurrent.futures
import contextlib
import os

from nezha_check.run import end_all


def _yield_to_others():
    """What this thread starts runs only where a processor has nothing else to do, if the system lets it."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


class Background:
    """Runs `prepare(check)` for the parts that have one, in the order given, in threads of its own: two, since some of it
    waits for a mirror of Debian. As a context it ends what is under way where the block fails."""

    def __init__(self, check):
        self._check = check
        self._pool = concurrent.futures.ThreadPoolExecutor(2, initializer=_yield_to_others)
        self._results = {}

    def start(self, prepares):
        """prepares: functions by the names of their parts, in the order in which these will ask."""
        self._results = {name: self._pool.submit(prepare, self._check) for name, prepare in prepares.items()}

    def result(self, name):
        """What that part's `prepare` returned, as soon as it has; raises what it raised."""
        return self._results[name].result()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self._pool.shutdown(wait=False, cancel_futures=True)
        if kind is not None:
            end_all()
