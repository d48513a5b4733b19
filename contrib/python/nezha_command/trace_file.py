# SPDX-License-Identifier: BSD-3-Clause
"""Reads what coll_nezha_trace wrote (components/engine/trace.h has the format)."""

import collections
import dataclasses
import json

from .errors import CommandError

FORMAT = 1
_SIZE_CLASSES = 64
_MOST, _LEAST_TICK = 1e15, 1e-3  # of times: with these and what is computed from them a float has room

Event = collections.namedtuple("Event", "ms event lane peer why")
Traffic = collections.namedtuple("Traffic", "ms sent received")
Call = collections.namedtuple("Call", "ms ranks size us way sent aggregated", defaults=(0.0,))
# Of what went through the node's shared memory, the time of the calls and of the stages within it.
Memory = collections.namedtuple("Memory", "calls size us copied_in_us reduced_us gathered_us between_us shared_us")
Calls = collections.namedtuple("Calls", "ms size_class calls us least_us way sent aggregated", defaults=(0.0,))


@dataclasses.dataclass
class Trace:
    """Times are in milliseconds since the job began; lists of bytes are in the order of rails, padded with zeros. aggregated: the
    part of the vectors that went through an aggregator, of 1."""

    version: str = ""
    node: str = ""
    tick_ms: float = 50.0
    rails: list = dataclasses.field(default_factory=list)
    traffic: list = dataclasses.field(default_factory=list)
    events: list = dataclasses.field(default_factory=list)
    single: list = dataclasses.field(default_factory=list)
    summed: list = dataclasses.field(default_factory=list)
    memory: Memory = None  # None: no call went through it, or the trace does not tell
    full: bool = False
    command: str = ""  # of the job, and what it was given; empty where the trace does not have them
    parameters: dict = dataclasses.field(default_factory=dict)

    def classes(self):
        """{size class: number of calls}, k for sizes from 2^k to below 2^(k+1)."""
        found = collections.Counter(call.size.bit_length() - 1 for call in self.single)
        for calls in self.summed:
            found[calls.size_class] += calls.calls
        return dict(sorted(found.items()))


def is_trace(first_line):
    try:
        start = json.loads(first_line)
    except ValueError:
        return False
    return isinstance(start, dict) and start.get("kind") == "start" and "tick_ms" in start


def read(path):
    """Raises CommandError with file and line. A last line that is cut, as of a job that was killed, is left out."""
    trace = Trace()
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            _take(trace, json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            if number == len(lines):
                break
            raise CommandError(f"{path}, line {number}: this is no line of a trace ({error})") from None
    _pad(trace)
    return trace


def _take(trace, entry):
    kind = entry["kind"]
    if kind == "start":
        if entry["format"] != FORMAT:
            raise ValueError(f"format {entry['format']}, {FORMAT} is understood")
        trace.version, trace.node, trace.tick_ms = str(entry["version"]), str(entry["node"]), float(_number(entry["tick_ms"]))
        if trace.tick_ms < _LEAST_TICK:
            raise ValueError("a tick takes no time")
        trace.command, trace.parameters = str(entry.get("command", "")), dict(entry.get("parameters", {}))
    elif kind == "rails":
        trace.rails = [str(name) for name in entry["names"]]
    elif kind == "traffic":
        trace.traffic.append(Traffic(_number(entry["t"]), _counts(trace, entry["sent"]), _counts(trace, entry["received"])))
    elif kind == "lane":
        trace.events.append(Event(_number(entry["t"]), *(str(entry[name]) for name in ("event", "lane", "peer", "why"))))
    elif kind == "call":
        trace.single.append(Call(_number(entry["t"]), _whole(entry["ranks"]), _whole(entry["bytes"], 1), _number(entry["us"]),
                                 _way(entry["way"]), _counts(trace, entry["sent"]), _number(entry.get("aggregated", 0))))
    elif kind == "calls":
        trace.summed.append(Calls(_number(entry["t"]), _whole(entry["class"], most=_SIZE_CLASSES - 1), _whole(entry["calls"], 1),
                                  _number(entry["us"]), _number(entry["least_us"]), _way(entry["way"]), _counts(trace, entry["sent"]),
                                  _number(entry.get("aggregated", 0))))
    elif kind == "memory":
        trace.memory = Memory(_whole(entry["calls"], 1), _whole(entry["bytes"]),
                              *(_number(entry[name]) for name in Memory._fields if name.endswith("us")))
    elif kind == "full":
        trace.full = True


def _number(value):
    if type(value) not in (int, float) or not 0 <= value <= _MOST:
        raise ValueError(f"{value!r} is no number from 0 to {_MOST:g}")
    return value


def _whole(value, least=0, most=(1 << 64) - 1):
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is no whole number from {least} to {most}")
    return value


def _counts(trace, values):
    if not isinstance(values, list) or len(values) > len(trace.rails):
        raise ValueError(f"{len(trace.rails)} rails are named before")
    return [_whole(value) for value in values]


def _way(text):
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{text!r} is no way")
    return text


def _pad(trace):
    """Rails that came later are in no list before."""
    def padded(values):
        return values + [0] * (len(trace.rails) - len(values))

    trace.traffic = [row._replace(sent=padded(row.sent), received=padded(row.received)) for row in trace.traffic]
    trace.single = [row._replace(sent=padded(row.sent)) for row in trace.single]
    trace.summed = [row._replace(sent=padded(row.sent)) for row in trace.summed]
