# SPDX-License-Identifier: BSD-3-Clause
"""What follows from what was measured: ratios of things that were measured in turn, with the floor of their noise."""

import dataclasses

from nezha_bench import stats

GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Figure:
    """A row of the table. values: one a round, in `unit`. floor: what differs between two measurements of the same, as a part;
    None where nothing was measured twice. asked: the bound; at_least: which way it goes."""

    case: str
    what: str
    values: tuple
    floor: float | None
    asked: float
    at_least: bool
    unit: str = ""

    @property
    def met(self):
        median = stats.estimate(self.values).median
        return median >= self.asked if self.at_least else median <= self.asked


def floor(*series):
    """Of things that were measured several times in a row."""
    again = [ratio for values in series for ratio in stats.pair_ratios(values[:-1], values[1:])]
    return stats.noise_floor(again) if again else None


def beside_plain(size, rows):
    """rows: of one job with a device. A small size is compared by its time, others by what they carry."""
    plain = [row["us"] for row in rows if row["kind"] == "send" and row["size"] == size]
    ours = [row["us"] for row in rows if row["kind"] == "allreduce" and row["size"] == size]
    small = size <= 1024
    values = stats.pair_ratios(ours, plain) if small else stats.pair_ratios(plain, ours)
    what = "time of a call / half a ping-pong" if small else "of what plain SENDs carry"
    return Figure("one device", f"{_text(size)}: {what}", tuple(values), floor(plain, ours), 1.3 if small else 0.85, not small)


def together(case, size, alone, both):
    """alone: {rails: microseconds, one a round}. The speed of both rails over the sum of that of each."""
    sums = [sum(1.0 / us for us in each) for each in zip(*alone.values())]
    values = [1.0 / us / total for us, total in zip(both, sums)]
    return Figure(case, f"{_text(size)}: of the sum of {' and '.join(alone)}", tuple(values), floor(both, *alone.values()), 0.9, True)


def processor_seconds(rows, kind="allreduce"):
    """Per GiB of vector, of all that ran on the machine; one a measurement of a large size."""
    return [row["machine_s"] * GIB / (row["calls"] * row["size"]) for row in rows if row["kind"] == kind and row["size"] >= 1 << 20]


def processor_time(verbs, tcp, kind="allreduce"):
    """kind: "send" for what the device alone needs, which adds up nothing."""
    ours, theirs = processor_seconds(verbs, kind), processor_seconds(tcp)
    return Figure("processors", f"seconds per GiB, {'verbs' if kind == 'allreduce' else 'plain SENDs'} / TCP", tuple(stats.pair_ratios(ours, theirs)), floor(ours, theirs), 1.0, False)


def fault(case, rounds):
    return Figure(case, "beyond what the other rail needs", tuple(each["beyond_ms"] for each in rounds), None, 100.0, False, " ms")


def _text(size):
    for shift, unit in ((20, "M"), (10, "K")):
        if size >= 1 << shift:
            return f"{size >> shift}{unit}"
    return f"{size} B"


def lines(figures):
    """The table."""
    rows = [("case", "what", "median", "least", "most", "floor", "asked", "times", "")]
    for each in figures:
        estimate, digits = stats.estimate(each.values), 0 if each.unit else 2
        rows.append((each.case, each.what, *(f"{value:.{digits}f}{each.unit}" for value in (
            estimate.median, min(each.values), max(each.values))), "" if each.floor is None else f"{100 * each.floor:.0f} %",
            f"{'>=' if each.at_least else '<='} {each.asked:g}{each.unit}", str(len(each.values)), "" if each.met else "missed"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        left = [text.ljust(width) for text, width in zip(row[:2], widths)]
        yield "  ".join(left + [text.rjust(width) for text, width in zip(row[2:], widths[2:])]).rstrip()
