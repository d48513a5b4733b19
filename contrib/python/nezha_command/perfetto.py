# SPDX-License-Identifier: BSD-3-Clause
"""A trace as JSON for Perfetto's and Chrome's viewers: calls by size, traffic on each rail, what happened to lanes.

The format is Chrome's "Trace Event Format": times in microseconds, a process for each trace, a thread for each size class.
"""

import json

from nezha_bench.sizes import size_text

_LANES = 0  # the thread of lanes' events; that of size class k is k + 1


def text(traces):
    """traces: [(name, Trace)]."""
    events = [event for process, (name, trace) in enumerate(traces) for event in _events(name, trace, process)]
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, separators=(",", ":")) + "\n"


def _events(name, trace, process):
    yield _named("process_name", process, _LANES, f"{name}: rank 0 on {trace.node}")
    yield _named("thread_name", process, _LANES, "lanes")
    for size_class in trace.classes():
        yield _named("thread_name", process, size_class + 1, f"from {size_text(1 << size_class)} bytes")
    for call in trace.single:
        yield _span(process, call.size.bit_length() - 1, call.ms, call.us, call.way,
                    {"bytes": call.size, "ranks": call.ranks, **_by_rail(trace, call.sent)})
    for row in trace.summed:
        yield _of_several(trace, process, row)
    for row in trace.traffic:
        yield from _counters(trace, process, row)
    for event in trace.events:
        yield {"ph": "i", "s": "p", "pid": process, "tid": _LANES, "ts": 1e3 * event.ms, "name": f"{event.event}: {event.lane}",
               "args": {"peer": event.peer, "why": event.why}}


def _named(kind, process, thread, name):
    return {"ph": "M", "pid": process, "tid": thread, "name": kind, "args": {"name": name}}


def _span(process, size_class, ms, us, name, arguments):
    return {"ph": "X", "pid": process, "tid": size_class + 1, "ts": 1e3 * ms, "dur": us, "name": name, "args": arguments}


def _of_several(trace, process, row):
    """Calls that share a line of the trace: as one span, for as long as they took together, a tick at most."""
    took = min(row.calls * row.us, 1e3 * trace.tick_ms)
    return _span(process, row.size_class, row.ms - took / 1e3, took, f"{row.way}, {row.calls} calls",
                 {"calls": row.calls, "mean_us": row.us, "least_us": row.least_us, **_by_rail(trace, row.sent)})


def _by_rail(trace, sent):
    return {f"sent by {rail}": count for rail, count in zip(trace.rails, sent)}


def _counters(trace, process, row):
    """Mean rates over the tick before, as steps that begin with it."""
    begin = 1e3 * max(0.0, row.ms - trace.tick_ms)
    for way, counts in (("sent", row.sent), ("received", row.received)):
        rates = {rail: count * 8 / 1e3 / trace.tick_ms for rail, count in zip(trace.rails, counts)}
        for at, values in ((begin, rates), (1e3 * row.ms, dict.fromkeys(rates, 0))):
            yield {"ph": "C", "pid": process, "ts": at, "name": f"Mbit/s {way}", "args": values}
