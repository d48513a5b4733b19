# SPDX-License-Identifier: BSD-3-Clause
"""The report's part on a job's trace."""

import itertools

from nezha_bench.sizes import size_text

from . import figures, rates, trace_story, verdict

_numbers = itertools.count(1)
# Beyond this the list of events tells nobody anything.
_MOST_EVENTS = 60
# Lanes that come up while the job starts are no news.
_FIRST_SECONDS = 1.0
_STAGES = {"copied in": "the own vector, into the memory", "reduced": "the own slice of each chunk",
           "gathered": "slices of the sum, before they go to other nodes", "shared": "the result, into the memory and out of it",
           "rest": "waiting, for the most part, and vectors too small to be timed", "between nodes": "something of a call was under way there"}


def write(page, trace, path, given):
    """given: the rates of rails, as rates.rates() has them."""
    sizes = trace_story.sizes(trace)
    page.heading("A job")
    page.say(f"{path}: written by rank 0 on {trace.node}, Nezha {trace.version}; its own calls, its own rails.")
    if trace.command or trace.parameters:
        page.details("Command line and parameters", [trace.command, *(f"coll_nezha_{name} = {value}"
                                                                      for name, value in trace.parameters.items())])
    if trace.full:
        page.warn("The trace reached its greatest length and ends before the job did.")
    if not sizes and not trace.memory:
        page.warn("No call was carried by Nezha in this job, nor measured: "
                  "coll_nezha_verbose 1 tells why, and nezha doctor what may be wrong.")
    if not sizes:
        _write_memory(page, trace)
        return
    events = _events(trace)
    page.verdict(verdict.of_trace(trace, sizes, _lost(events)))
    page.tiles(_tiles(trace, sizes, events))
    total = rates.together(trace.rails, given)
    limits = {size.size_class: least for size in sizes for least in [rates.least_us(size, total)] if least is not None}
    if any(size.shares for size in sizes):
        _write_sizes(page, trace, sizes, limits)
    _write_memory(page, trace)
    if trace.traffic and trace.rails:
        _write_traffic(page, trace, events)
    if any(len(size.points) > 1 for size in sizes):
        _write_convergence(page, sizes, limits)


def _write_memory(page, trace):
    memory = trace.memory
    if memory is None:
        return
    page.heading("In the memory of the node")
    page.say(f"What {memory.calls} calls of rank 0 with {_bytes(memory.size)}, blocking or not, did in the memory that ranks of a node share: "
             f"{memory.us / 1e6:.3g} s in all. Stages are timed for vectors from some KiB on.")
    page.table(["stage", "what it is", "seconds", "% of the calls' time"],
               [(stage, _STAGES[stage], f"{us / 1e6:.3f}", f"{100 * us / memory.us:.1f}" if memory.us else "")
                for stage, us in trace_story.memory_stages(trace)], text=("stage", "what it is"))
    page.say("Between nodes: meanwhile other stages go on, so that this counts beside them.")


def _lost(events):
    return sum(event.event == "lost" for _, event in events)


def _events(trace):
    """(number, Event): what happened to lanes once they were up, and each reason but the first."""
    seen, found = set(), []
    for event in trace_story.events(trace):
        first = event.event == "up" and (event.lane, event.peer) not in seen
        seen.add((event.lane, event.peer))
        if not (first and event.ms / 1e3 < _FIRST_SECONDS) and not first:
            found.append(event)
    return list(enumerate(found, 1))


def _tiles(trace, sizes, events):
    yield f"{sum(size.calls for size in sizes)}", "calls of rank 0"
    yield _bytes(sum(sum(row.sent) for row in trace.traffic)), "sent by it"
    yield f"{len(trace.rails)}", "rails"
    yield f"{_lost(events)}", "lanes lost"


def _bytes(count):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def _write_sizes(page, trace, sizes, limits):
    page.heading("How each size is carried")
    page.say(f"Which algorithm, and which part of the bytes went over each rail, in {trace_story.SETTLED}. "
             "Hatched: the calls went to Open MPI's own allreduce (incumbent), and no bytes are counted.")
    page.svg(figures.svg(figures.shares(sizes, trace.rails), f"s{next(_numbers)}"), "Shares of rails and algorithm by size")
    aggregated = any(size.aggregated for size in sizes)
    rows = [_size_row(size, trace, limits) + ((f"{100 * size.aggregated:.1f}",) if aggregated else ()) for size in sizes]
    page.table(["from bytes", "calls", "way", "median", "p50", "p99", *(["% of limit"] if limits else []), "settled after calls",
                *(f"{name} %" for name in trace.rails), *(["aggregator %"] if aggregated else [])], rows, text=("way",))
    if aggregated:
        page.say("aggregator %: the part of the vector that went through an aggregator. Rails carry its bytes too.")
    page.say(f"median: of the calls in {trace_story.SETTLED} that went this way. Beyond the first 512 calls of a size the trace has means "
             f"over {trace.tick_ms:g} ms, each of which counts as often as it has calls.")
    page.say("p50 and p99: of the calls among the first 512 of a size that went this way; p99 where these are 100 or more. “Never "
             "settled”: the way changed too late to say that it was the choice.")
    if limits:
        page.say("% of limit: the time that the given rates of the rails allow at best, for one rank on each node with the same rails, "
                 "over p50.")


def _size_row(size, trace, limits):
    limit = limits.get(size.size_class)
    of_limit = [f"{100 * limit / size.p50:.1f}" if limit and size.p50 else ""] if limits else []
    shares = [""] * len(trace.rails) if size.is_incumbent else size.shares or [0] * len(trace.rails)
    return (size_text(1 << size.size_class), size.calls, figures.OWN if size.is_incumbent else size.way, _time(size.us), _time(size.p50),
            _time(size.p99), *of_limit, (size.settled_after or "from the start") if size.settled else "never settled",
            *(share if share == "" else f"{100 * share:.1f}" for share in shares))


def _time(us):
    if us is None:
        return ""
    return f"{us:.1f} µs" if us < 1000 else f"{us / 1000:.2f} ms"


def _write_traffic(page, trace, events):
    step, seconds, rates = trace_story.traffic(trace)
    page.heading("Traffic on each rail")
    page.say("What rank 0 handed to its lanes. Lines mark what happened to lanes: red lost, orange suspect (no answer), "
             "green answering or connected again.")
    page.say(_idle(trace))
    marks = figures.thinned([(event.ms / 1e3, event.event, number) for number, event in events], step)
    page.svg(figures.svg(figures.traffic(trace.rails, step, seconds, rates, marks), f"t{next(_numbers)}"),
             "Mbit/s on each rail over time")
    if len(marks) < len(events):
        page.say(f"{len(events) - len(marks)} lines are left out: in each step of {step:g} ms there is one for each kind of event.")
    if events:
        page.table(["", "seconds", "event", "lane", "to", "why"],
                   [(number, f"{event.ms / 1e3:.3f}", event.event, event.lane, event.peer, event.why)
                    for number, event in events[:_MOST_EVENTS]], text=("event", "lane", "to", "why"))
    if len(events) > _MOST_EVENTS:
        page.say(f"And {len(events) - _MOST_EVENTS} more events.")


def _idle(trace):
    """Why rails carried nothing at times."""
    whole, rails, incumbent = trace_story.spent(trace)
    parts = [min(100, 100 * part / whole) if whole else 0 for part in (rails, incumbent, max(0, whole - rails - incumbent))]
    return (f"From its first call to its last, {whole:.3g} s, rank 0 spent {parts[0]:.0f} % in calls that rails carried, {parts[1]:.0f} % "
            f"in Open MPI's own allreduce and {parts[2]:.0f} % outside of both, in which rails have nothing to carry.")


def _write_convergence(page, sizes, limits):
    page.heading("How each size found its way")
    page.say("The duration of each of a size's first calls on rank 0, by what carried it; the dotted line is the 20th call. "
             f"With coll_nezha_learn 0 nothing is tried. What took more than {figures.CUT} times the median is off the top.")
    page.svg(figures.svg(figures.convergence(sizes, limits), f"c{next(_numbers)}"), "Duration of each call by its number")
