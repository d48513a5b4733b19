# SPDX-License-Identifier: BSD-3-Clause
"""What is seen while the comparison runs: a bar on a terminal, a line per launch elsewhere. All on standard error,
which may be lost meanwhile.
"""

import time

from nezha_lab.console import Console
from nezha_lab.leaving import quiet_if_lost
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .competitors import AGAIN, LABELS
from .sizes import size_text


def name_of(who, subject):
    return f"{LABELS[subject]} again" if who == AGAIN else LABELS[who]


class Bar:
    """For a terminal: one step per size of each launch."""

    def __init__(self, console, case, subject, launches, sizes):
        self._subject = subject
        self._bar = Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
                             TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True)
        self._task = self._bar.add_task(case, total=launches * sizes)
        self._case, self._now, self._sizes, self._begun = case, case, sizes, 0

    def __enter__(self):
        with quiet_if_lost():
            self._bar.start()
        return self

    def __exit__(self, *_):
        with quiet_if_lost():
            self._bar.stop()

    def launch(self, number, count, who):
        self._now = f"{self._case}  round {number + 1} of {count}  {name_of(who, self._subject)}"
        self._update(description=self._now, completed=self._begun * self._sizes)
        self._begun += 1

    def size(self, size):
        self._update(advance=1, description=f"{self._now}  {size_text(size)}")

    def scout(self, who):
        self._now = f"{self._case}  {LABELS[who]} tries its algorithms"
        self._update(description=self._now)

    def scout_size(self, size):
        self._update(description=f"{self._now}  {size_text(size)}")

    def memory(self, who):
        self._update(description=f"{self._case}  memory of {LABELS[who]}")

    def instructions(self, size):
        self._update(description=f"{self._case}  instructions at {size_text(size)}")

    def round_done(self, number, count):
        pass

    def more(self, sizes):
        self._update(total=None)

    def _update(self, **fields):
        with quiet_if_lost():
            self._bar.update(self._task, **fields)


class Lines:
    """For a file or a pipe."""

    def __init__(self, console, case, subject, launches, sizes):
        self._console, self._case, self._subject, self._start = console, case, subject, time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def launch(self, number, count, who):
        self._say(f"round {number + 1} of {count}: {name_of(who, self._subject)}")

    def size(self, size):
        pass

    def scout(self, who):
        self._say(f"{LABELS[who]} tries its algorithms")

    def scout_size(self, size):
        pass

    def memory(self, who):
        self._say(f"memory of {LABELS[who]}")

    def instructions(self, size):
        self._say(f"instructions at {size_text(size)}")

    def round_done(self, number, count):
        self._say(f"round {number + 1} of {count} done {time.monotonic() - self._start:.0f} s after the start")

    def more(self, sizes):
        self._say(f"the host took too much of {', '.join(map(size_text, sizes))}: measured again")

    def _say(self, text):
        with quiet_if_lost():
            self._console.print(f"{self._case}: {text}", markup=False, soft_wrap=True)


def make(case, subject, launches, sizes, quiet=False):
    console = Console(stderr=True, highlight=False, quiet=quiet)
    return (Bar if console.is_terminal else Lines)(console, case, subject, launches, sizes)
