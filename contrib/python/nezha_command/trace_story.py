# SPDX-License-Identifier: BSD-3-Clause
"""What a trace says of each size class: how it was carried in the end, by which rails, and since which call."""

import bisect
import collections
import dataclasses
import itertools
import math
import re
import statistics

SETTLED = "the last quarter of its calls"
INCUMBENT = "incumbent"
# Calls that a size has to keep its way for to count as settled, and the part of its calls.
_KEPT_CALLS, _KEPT_PART = 10, 0.25
# With fewer calls the 99th percentile is only their greatest.
_ENOUGH_FOR_P99 = 100
# How much earlier than this process another one may come to its end.
_END_MS = 1000
_FAREWELLS = re.compile("the other side closed the connection|Connection reset by peer|Broken pipe")


@dataclasses.dataclass
class Size:
    """Of one size class; shares are parts of 1, empty where the rails carried nothing. Percentiles are of the calls that were
    written singly and went this way; None where these are too few."""

    size_class: int
    calls: int
    way: str
    us: float  # median of the calls that went this way, among the latest; calls that share a line count with their mean
    shares: list
    settled_after: int  # calls before the last change of the way
    points: list  # (number of the call, us, way), those that were written singly
    p50: float = None
    p99: float = None
    ranks: int = 0  # of the calls that were written singly, and their median size; 0 where there are none
    bytes: int = 0
    aggregated: float = 0.0  # the part of the vectors that went through an aggregator, of 1

    @property
    def is_incumbent(self):
        return self.way == INCUMBENT

    @property
    def settled(self):
        """Whether it kept its way long enough to say that this was its choice."""
        return self.settled_after == 0 or self.calls - self.settled_after >= max(_KEPT_CALLS, _KEPT_PART * self.calls)


def memory_stages(trace):
    """[(stage, us)] of the node's shared memory; the rest is what the process's own stages leave of the calls' time."""
    memory = trace.memory
    own = memory.copied_in_us + memory.reduced_us + memory.gathered_us + memory.shared_us
    return [("copied in", memory.copied_in_us), ("reduced", memory.reduced_us), ("gathered", memory.gathered_us),
            ("shared", memory.shared_us), ("rest", max(0, memory.us - own)), ("between nodes", memory.between_us)]


def events(trace):
    """What happened to lanes, without the farewell: at a job's end others may close their lanes first."""
    last_call = max((row.ms for row in (*trace.single, *trace.summed)), default=0)
    found = list(trace.events)
    while found and found[-1].event == "lost" and _FAREWELLS.search(found[-1].why) and found[-1].ms > last_call - _END_MS:
        found.pop()
    return found


def spent(trace):
    """(seconds from the first call's begin to the last one's end, of these in calls that rails carried, in the incumbent's). Calls
    that overlap count each."""
    begin = trace.single[0].ms if trace.single else max(0, trace.summed[0].ms - trace.tick_ms)
    whole = max([call.ms + call.us / 1e3 for call in trace.single] + [row.ms for row in trace.summed]) - begin
    rows = [(1, call.us, call.way) for call in trace.single] + [(row.calls, row.us, row.way) for row in trace.summed]
    rails, incumbent = (sum(count * us for count, us, way in rows if (way == INCUMBENT) is own) for own in (False, True))
    return whole / 1e3, rails / 1e6, incumbent / 1e6


def sizes(trace):
    return [_size(trace, size_class, calls) for size_class, calls in trace.classes().items()]


def _size(trace, size_class, calls):
    single = [call for call in trace.single if call.size.bit_length() - 1 == size_class]
    summed = [row for row in trace.summed if row.size_class == size_class]
    points = [(number, call.us, call.way) for number, call in enumerate(single, 1)]
    rows = [(1, call.us, call.way, call) for call in single] + [(row.calls, row.us, row.way, row) for row in summed]
    late = _latest(rows, max(1, calls // 4))
    way = collections.Counter({way: 0 for _, _, way, _ in late})
    for count, _, one, _ in late:
        way[one] += count
    way = way.most_common(1)[0][0]
    chosen = [row for row in late if row[2] == way]
    return Size(size_class, calls, way, _median([(us, count) for count, us, _, _ in chosen]), _shares(chosen),
                _settled_after(rows, way), points, *_percentiles([us for _, us, one in points if one == way]),
                statistics.mode(call.ranks for call in single) if single else 0,
                int(statistics.median(call.size for call in single)) if single else 0,
                sum(count * row.aggregated for count, _, _, row in chosen) / sum(count for count, *_ in chosen))


def _median(weighted):
    """Of [(value, how often it counts)]."""
    ordered = sorted(weighted)
    ends = list(itertools.accumulate(count for _, count in ordered))
    low, high = (ordered[side(ends, ends[-1] / 2)][0] for side in (bisect.bisect_left, bisect.bisect_right))
    return (low + high) / 2


def _percentiles(times):
    """(50th, 99th)"""
    if not times:
        return None, None
    p99 = sorted(times)[math.ceil(0.99 * len(times)) - 1] if len(times) >= _ENOUGH_FOR_P99 else None
    return statistics.median(times), p99


def _latest(rows, wanted):
    """The last rows that make up `wanted` calls."""
    taken = 0
    for index in range(len(rows) - 1, -1, -1):
        taken += rows[index][0]
        if taken >= wanted:
            return rows[index:]
    return rows


def _shares(rows):
    totals = [sum(column) for column in zip(*(row.sent for _, _, _, row in rows))]
    whole = sum(totals)
    return [part / whole for part in totals] if whole else []


def _settled_after(rows, way):
    """How many calls there were when the way was taken that it has kept, trials of others later on aside: from there on
    fewer than one call in ten went another way."""
    after, others, kept = sum(count for count, *_ in rows), 0, 0
    for count, _, one, _ in reversed(rows):
        others, kept = (others, kept + count) if one == way else (others + count, kept)
        if others > max(5, kept // 10):
            break
        if one == way:
            after_here = kept + others
            settled = after_here
    return after - settled if kept else after


def traffic(trace, most=400):
    """(milliseconds per step, [seconds], [[Mbit/s per step] per rail]) of what was sent, in at most `most` steps."""
    if not trace.traffic:
        return trace.tick_ms, [], []
    begin, end = min(row.ms for row in trace.traffic) - trace.tick_ms, max(row.ms for row in trace.traffic)
    step = trace.tick_ms * max(1, round((end - begin) / trace.tick_ms / most))
    count = int((end - begin) / step) + 1
    rates = [[0.0] * count for _ in trace.rails]
    for row in trace.traffic:
        at = min(count - 1, int((row.ms - trace.tick_ms / 2 - begin) / step))
        for rail, sent in enumerate(row.sent):
            rates[rail][at] += sent * 8 / 1e3 / step
    return step, [(begin + (number + 0.5) * step) / 1e3 for number in range(count)], rates
