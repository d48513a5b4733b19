# SPDX-License-Identifier: BSD-3-Clause
"""A job of nezha_fault_bench, whose calls are read as they end. All times are seconds of time.monotonic()."""

import collections
import statistics
import subprocess
import tempfile
import threading
import time

from nezha_bench.errors import BenchError
from nezha_bench.excerpt import excerpt
from nezha_bench.output import read_json_line

Call = collections.namedtuple("Call", "start end nezha")

_SETTLED = 6
_SPREAD = 1.2
NEARLY = 0.95  # of a speed is as good as reaching it


class CallJob:
    """As a context manager: the job has ended when the block has."""

    def __init__(self, lab, program, size, options=(), spread=_SPREAD, nodes=None, ppn=1, **keywords):
        """nodes: on how many of the lab's, else on all. ppn: ranks on each. spread: calls in a row that differ by less than
        this factor take about as long."""
        self._spread = spread
        self._errors = tempfile.TemporaryFile("w+")
        self._changed = threading.Condition()
        self._ended = None
        self.calls = []
        self._job = lab.popen([*options, program, size], np=ppn * (nodes or lab.spec.nodes), ppn=ppn, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=self._errors, text=True, **keywords)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._job.end()
        self._reader.join()
        self._job.stdout.close()
        self._errors.close()

    def _read(self):
        for line in self._job.stdout:
            found = read_json_line(line)
            if found is None:
                continue
            call = Call(found[1]["start_ns"] / 1e9, found[1]["end_ns"] / 1e9, found[1]["nezha"])
            with self._changed:
                self.calls.append(call)
                self._changed.notify_all()
        with self._changed:
            self._ended = time.monotonic()
            self._changed.notify_all()

    @property
    def ended(self):
        """When its output ended; None while it runs."""
        return self._ended

    def log(self):
        """What it wrote to standard error so far."""
        self._errors.seek(0)
        return self._errors.read()

    def wait(self, condition, seconds, what):
        """Until condition(calls); raises BenchError when the job ends before or it takes too long."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended is not None or condition(self.calls), seconds)
            if condition(self.calls):
                return
        how = "ended" if self._ended is not None else f"took more than {seconds:g} s"
        raise BenchError(f"the job {how} before {what}\n{excerpt(self.log())}")

    def more(self, count, seconds=60):
        """Waits for so many further calls and returns them."""
        before = len(self.calls)
        self.wait(lambda calls: len(calls) >= before + count, seconds, f"{count} more calls were done")
        return self.calls[before:before + count]

    def await_middle(self):
        """Until the middle of its next call."""
        period = self.calls[-1].end - self.calls[-2].end
        took = self.calls[-1].end - self.calls[-1].start
        self.more(1)
        time.sleep(max(0.0, self.calls[-1].end + period - 0.6 * took - time.monotonic()))

    def settle(self, nezha, seconds=60):
        """Until several calls in a row went the way that is wanted and took about as long; how long that was."""
        def steady(calls):
            last = [call.end - call.start for call in calls[-_SETTLED:] if call.nezha == nezha]
            return len(last) == _SETTLED and max(last) < self._spread * min(last)
        self.wait(steady, seconds, "it ran steadily" + (" on the rails" if nezha else ""))
        return median(self.calls[-_SETTLED:])


def median(calls):
    return statistics.median(call.end - call.start for call in calls)
