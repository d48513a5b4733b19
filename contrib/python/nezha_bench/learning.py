# SPDX-License-Identifier: BSD-3-Clause
"""What learning costs a job, and what it is worth: bench --learning.

A round launches Nezha as it learns from nothing, then twice with what that launch has learned, frozen, and once without:
every call of every launch is timed. Launches differ from one another by more than learning costs, so each call counts in
units of what late calls of its own launch take, and of each call the median over the rounds is summed up.
"""

import dataclasses
import os
import re
import statistics
import tempfile

from . import launch, stats, stolen
from .competitors import NEZHA, Launcher
from .rounds import complete
from .sizes import size_text

LEARNS, FROZEN, AGAIN, PLAIN = "learns", "frozen", "frozen again", "plain"
CALLS = 1000
FIRST = slice(3, 13)  # what OSU's programs time if they are given 10 calls: 3 come before
_FEWEST = 48  # calls of a large vector, of which learning needs the first
_BYTES = 64 << 20  # of all vectors of a size together, where there are more than that many


@dataclasses.dataclass
class Cost:
    """Of one size. Costs are parts of the time of CALLS calls."""

    size: int
    us: float          # a late call, as it was learned
    found: list        # calls until what was settled on carried them, by round; None where nothing was
    settled: list      # and until that was sure
    cost: float
    floor: float       # what the frozen launches differ by
    restless: bool     # the host took processor time in too many rounds, and all count
    first: object       # Estimate of the ratio of the FIRST calls to those without learning
    over_plain: object  # Estimate of the ratio to the late calls without learning
    plain_floor: float
    ways: list


def calls_of(size):
    return max(_FEWEST, min(CALLS, _BYTES // size))


def groups(sizes):
    """[(calls, sizes)]: sizes that get as many calls share a launch."""
    found = {}
    for size in sizes:
        found.setdefault(calls_of(size), []).append(size)
    return sorted(found.items(), reverse=True)


class _Launcher:
    """Stands for competitors.Launcher: what each kind of launch is given beside Nezha's own arguments."""

    def __init__(self, launcher, sizes, calls, table):
        self.effort = dataclasses.replace(launcher.effort, sizes=tuple(sizes), iterations=calls, warmup=0)
        self.programs, self._table = launcher.programs, table
        self._launcher = Launcher(launcher.case, launcher.programs, self.effort, launcher.nezha_mca)

    def of(self, kind):
        own = {LEARNS: {"learn": "1", "table_save": self._table, "verbose": "1"},
               FROZEN: {"learn": "0", "table": self._table}, PLAIN: {"learn": "0"}}[FROZEN if kind == AGAIN else kind]
        arguments, keywords = self._launcher.of(NEZHA)
        pairs = [word for key, value in own.items() for word in ("--mca", f"coll_nezha_{key}", value)]
        return [*pairs, *arguments, "--each"], keywords


def measure(lab, launcher, count, deadline, step):
    """([{kind: {size: members}}] by round, LEARNS with what story() says beside; what ended them early), as rounds.complete() has it."""
    with tempfile.TemporaryDirectory() as directory:
        def one(number):
            return _round(lab, launcher, number, directory, deadline, lambda text: step(f"round {number + 1} of {count}, {text}"))

        return complete(one, count)


def _round(lab, launcher, number, directory, deadline, step):
    found = {kind: {} for kind in (LEARNS, FROZEN, AGAIN, PLAIN)}
    for calls, sizes in groups(launcher.effort.sizes):
        table = os.path.join(directory, f"{number}-{calls}")
        own = _Launcher(launcher, sizes, calls, table)
        for kind in _order(number):
            step(f"{calls} calls: {kind}")
            done = launch.run(lab, own, kind, deadline)
            found[kind].update(done.sizes)
            if kind == LEARNS:
                for size in sizes:
                    found[kind][size].update(story(done.words, size))
    return found


def _order(number):
    """Who learns comes first; the rest takes turns."""
    rest = [FROZEN, AGAIN, PLAIN]
    shift = number % len(rest)
    return [LEARNS, *rest[shift:], *rest[:shift]]


def story(words, size):
    """What the log says of a size: {"found": calls or None, "settled": calls or None, "way": of that time}."""
    said = re.search(rf"from {size_text(size).lower()} bytes: (.*?), (?:kept|a new choice), "
                     rf"found after (\d+), settled after (\d+) calls", words)
    if not said:
        return {"found": None, "settled": None, "way": None}
    return {"found": int(said[2]), "settled": int(said[3]), "way": said[1]}


def _late(each):
    """What a call takes when everything has been seen."""
    return statistics.median(each[len(each) // 2:])


def _excess(launches):
    """The time of all calls beyond that of as many late ones, in late calls; a call's is its median over the rounds."""
    rows = [[us / _late(members["each_us"]) - 1 for us in members["each_us"]] for members in launches]
    return sum(statistics.median(column) for column in zip(*rows))


def summarise(rounds):
    return [_cost([{kind: launches[size] for kind, launches in found.items()} for found in rounds], size)
            for size in sorted(rounds[0][LEARNS])]


def _cost(rounds, size):
    rounds, restless = stolen.counted(rounds, rounds[0])

    def launches(kind):
        return [found[kind] for found in rounds]

    def late(kind):
        return [_late(members["each_us"]) for members in launches(kind)]

    def first(kind):
        return [statistics.mean(members["each_us"][FIRST]) for members in launches(kind)]

    frozen, again = _excess(launches(FROZEN)), _excess(launches(AGAIN))
    return Cost(size, statistics.median(late(FROZEN)), *([found[LEARNS][word] for found in rounds] for word in ("found", "settled")),
                (_excess(launches(LEARNS)) - (frozen + again) / 2) / CALLS, abs(frozen - again) / CALLS, restless,
                stats.estimate(stats.pair_ratios(first(LEARNS), first(PLAIN))),
                stats.estimate(stats.pair_ratios(late(FROZEN), late(PLAIN))),
                stats.noise_floor(stats.pair_ratios(late(AGAIN), late(FROZEN))), [found[LEARNS]["way"] for found in rounds])
