# SPDX-License-Identifier: BSD-3-Clause
"""nezha report: one page with pictures of what was measured and of what a job did."""

import datetime
import json
import sys

from nezha_bench.files import is_no_file, replaceable, write

from . import installed, paths, perfetto, prometheus, rates, trace_file
from .errors import GOOD, UNABLE, CommandError

_ABOUT = """\
Makes one self-contained HTML page, which needs no network, from any of

  a trace    what mpirun --mca coll_nezha_trace FILE made rank 0 write: how sizes were carried and by which rails,
             traffic on each rail over time with the lanes' failures marked, and how each size found its way
  a bench    what nezha bench or contrib/bench wrote by --json: time, and % of the limit, against the competitors

  nezha report job.trace bench.json --output report.html
  nezha report job.trace --rates eth0=1gbit,eth1=500mbit     with the least time that these allow
  nezha report job.trace --perfetto job.json                 for ui.perfetto.dev or chrome://tracing too

Exit status: 0; 2 when a result would replace a file that is read; 3 when a file cannot be read."""


def add(verbs):
    parser = verbs.add_parser("report", help="a page with pictures, from a job's trace and from the bench", description=_ABOUT)
    parser.add_argument("files", nargs="+", metavar="FILE", help="traces and bench files, in any order")
    parser.add_argument("--output", "-o", type=replaceable, default="nezha-report.html", metavar="FILE", help="default nezha-report.html")
    parser.add_argument("--rates", type=rates.rates, default={}, metavar="LIST", help="the rates of a trace's rails, as "
                        "eth0=1gbit,eth1=500mbit: the pages then have the least time that these allow")
    parser.add_argument("--perfetto", type=replaceable, metavar="FILE", help="what the traces have, as JSON for Perfetto and Chrome's "
                        "tracing")
    parser.add_argument("--prometheus", type=replaceable, metavar="FILE", help="what the traces come to, as metrics for the textfile "
                        "collector of Prometheus' node exporter, which reads names in .prom")
    parser.set_defaults(run=run)


def run(options):
    paths.check_each_once(options.files)
    paths.check_apart(options.files, {"--output": options.output, "--perfetto": options.perfetto, "--prometheus": options.prometheus})
    try:
        from . import report_bench, report_trace
        from .page import Page
    except ModuleNotFoundError as error:
        raise CommandError(f"Python's module {error.name} is missing: install python3-{error.name}") from None
    now = datetime.datetime.now().astimezone()
    names = paths.names(options.files)
    page = Page("Nezha: report", ", ".join(names.values()))
    traces = []
    for path in options.files:
        kind, content = read(path)
        if kind == "trace":
            traces.append((names[path], content))
            report_trace.write(page, content, paths.printable(path), options.rates)
        else:
            _draw_bench(report_bench.write, page, content, path)
    _check_rates(options.rates, [rail for _, trace in traces for rail in trace.rails])
    results = [(options.output, page.text(f"nezha {installed.VERSION}, {now:%Y-%m-%d %H:%M}"))]
    for option, path, text in (("--perfetto", options.perfetto, perfetto.text), ("--prometheus", options.prometheus, prometheus.text)):
        if path and not traces:
            raise CommandError(f"{option} is about traces, of which none is named")
        if path:
            results.append((path, text(traces)))
    return GOOD if all([_write(path, text) for path, text in results]) else UNABLE


def _check_rates(given, rails):
    unused = rates.unused(given, rails)
    if unused:
        there = ", ".join(dict.fromkeys(rails)) or "none"
        print(f"nezha report: --rates {', '.join(unused)}: no trace has such a rail; there is {there}", file=sys.stderr)


def _draw_bench(draw, page, document, path):
    try:
        draw(page, document, paths.printable(path))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise CommandError(f"{path} is not as nezha bench or contrib/bench has written it") from None


def _write(path, text):
    written = write(path, text)
    if written:
        print(paths.printable(path))
    return written


def read(path):
    """('trace', Trace) or ('bench', document)."""
    if is_no_file(path):  # a pipe can be read only once, and waits for its other end
        raise CommandError(f"{path} cannot be read: it is no regular file")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            first = file.readline()
            if trace_file.is_trace(first):
                return "trace", trace_file.read(path)
            document = json.loads(first + file.read())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and "programs" in document:
        raise CommandError(f"{path} is of contrib/bench --program, of which there are no pictures")
    if not isinstance(document, dict) or "cases" not in document:
        raise CommandError(f"{path} is neither a trace nor a file of the bench")
    return "bench", document
