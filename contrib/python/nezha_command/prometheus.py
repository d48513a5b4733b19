# SPDX-License-Identifier: BSD-3-Clause
"""What traces have, as metrics in Prometheus' text format, for the textfile collector of its node exporter.

One sample a metric and set of labels: the whole job. A label `trace` tells the jobs apart.
"""

import collections

from . import trace_story

Metric = collections.namedtuple("Metric", "name kind help samples")  # samples: [(labels, value)]


def text(traces):
    """traces: [(name, Trace)]."""
    return "".join(_written(metric) for metric in _metrics(traces))


def _metrics(traces):
    by_size = [({"trace": name, "node": trace.node, "from_bytes": 1 << size.size_class}, size)
               for name, trace in traces for size in trace_story.sizes(trace)]
    yield Metric("nezha_calls_total", "counter", "Calls of rank 0 by size class and way; incumbent is Open MPI's own allreduce.",
                 [({"trace": name, "node": trace.node, "from_bytes": 1 << size_class, "way": way}, count)
                  for name, trace in traces for (size_class, way), count in sorted(_calls(trace).items())])
    for quantile in ("p50", "p99"):
        yield Metric(f"nezha_call_{quantile}_seconds", "gauge", "Duration of a size's first 512 calls, of those that went its usual way.",
                     [({**labels, "way": size.way}, getattr(size, quantile) / 1e6) for labels, size in by_size
                      if getattr(size, quantile) is not None])
    yield Metric("nezha_size_settled", "gauge", "1 where a size kept its way long enough to be its choice.",
                 [(labels, int(size.settled)) for labels, size in by_size])
    yield Metric("nezha_size_aggregated_ratio", "gauge", "Part of a size's vectors that went through an aggregator.",
                 [(labels, size.aggregated) for labels, size in by_size if size.aggregated])
    yield Metric("nezha_memory_calls_total", "counter", "Calls of rank 0 by the memory that ranks of its node share.",
                 [({"trace": name, "node": trace.node}, trace.memory.calls) for name, trace in traces if trace.memory])
    yield Metric("nezha_memory_stage_seconds_total", "counter", "Time of rank 0 in each stage of these calls; between nodes counts beside the others.",
                 [({"trace": name, "node": trace.node, "stage": stage}, us / 1e6) for name, trace in traces if trace.memory
                  for stage, us in trace_story.memory_stages(trace)])
    for what in ("sent", "received"):
        yield Metric(f"nezha_rail_{what}_bytes_total", "counter", f"Bytes that rank 0 {what} over each rail.",
                     [({"trace": name, "node": trace.node, "rail": rail}, sum(getattr(row, what)[at] for row in trace.traffic))
                      for name, trace in traces for at, rail in enumerate(trace.rails)])
    yield Metric("nezha_lane_events_total", "counter", "What happened to lanes of rank 0.",
                 [({"trace": name, "node": trace.node, "event": event}, count) for name, trace in traces
                  for event, count in sorted(collections.Counter(row.event for row in trace_story.events(trace)).items())])


def _calls(trace):
    """{(size class, way): calls}"""
    found = collections.Counter((call.size.bit_length() - 1, call.way) for call in trace.single)
    for row in trace.summed:
        found[row.size_class, row.way] += row.calls
    return found


def _written(metric):
    lines = [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
    for labels, value in metric.samples:
        words = ",".join(f'{name}="{_escaped(str(text))}"' for name, text in labels.items())
        lines.append(f"{metric.name}{{{words}}} {value}")
    return "\n".join(lines) + "\n"


def _escaped(text):
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
