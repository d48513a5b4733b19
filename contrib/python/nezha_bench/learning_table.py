# SPDX-License-Identifier: BSD-3-Clause
"""What bench --learning prints."""

import collections
import statistics

from nezha_lab.console import Console
from nezha_lab.leaving import tell

from . import learning, rounds, stolen, table
from .sizes import size_text

_READING = ("us: a late call with what was learned, median. found: calls until the way that was settled on carried all, the "
            "median of the rounds and the most; settled: until it had given proof as well.",
            f"cost: of learning, in the first {learning.CALLS} calls; its floor is what two launches with the same table differ by.",
            f"first: calls {learning.FIRST.start + 1} to {learning.FIRST.stop} while learning, over those without.",
            "/ plain: the learned way's time over that without learning, median of the rounds' ratios with its interval; its "
            "floor is what the learned way differs from itself by.")


def run(launcher, count):
    """Measures and prints one case; the rounds that are complete too when something ends it early, which is then raised."""
    case = launcher.case
    seconds = rounds.deadline(launcher.effort, case.processes) + 60
    with case.lab() as lab:
        found, ended = learning.measure(lab, launcher, count, seconds, lambda text: tell(f"{case.name}: {text}"))
    _print(case, found, ended is not None)
    if ended is not None:
        raise ended


def _print(case, found, interrupted):
    costs = learning.summarise(found)
    console = Console(highlight=False)
    table.say(console, table.heading(vars(case), len(found), interrupted))
    table.print_table(console, ["size", "us", "way", "found", "settled", "cost", "floor", "first", "/ plain", "floor"],
                      [_cells(cost) for cost in costs])
    taken = stolen.summarise(sizes for kinds in found for sizes in kinds.values())
    table.say(console, [*_READING, *stolen.sentences(taken, any(cost.restless for cost in costs))])


def _cells(cost):
    texts = (size_text(cost.size), f"{cost.us:.1f}", _ways(cost.ways), _calls(cost.found), _calls(cost.settled),
             _percent(cost.cost), _percent(cost.floor), table.span_text(vars(cost.first)), table.span_text(vars(cost.over_plain)),
             _percent(cost.plain_floor) + stolen.mark(cost.restless))
    return [(text, None) for text in texts]


def _ways(ways):
    """'mesh 4, ring 1' where the rounds differ."""
    counts = collections.Counter(way or "?" for way in ways).most_common()
    return counts[0][0] if len(counts) == 1 else ", ".join(f"{way} {count}" for way, count in counts)


def _calls(calls):
    return "never" if None in calls else f"{statistics.median_high(calls)}-{max(calls)}"


def _percent(part):
    return f"{100 * part:.2f}%"
