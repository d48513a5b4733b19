# SPDX-License-Identifier: BSD-3-Clause
"""nezha plan: what an allreduce should take on a cluster that is only described."""

import json

from nezha_bench.arguments import numbers
from nezha_bench.errors import BenchUsage
from nezha_bench.files import replaceable
from nezha_bench.sizes import parse_sizes
from nezha_plan import tables

from . import paths, plan_files, terminal
from .errors import GOOD, UNABLE, CommandError, UsageError

_SIZES = "4,256,1K,4K,16K,64K,256K,1M,4M,16M,64M"
_ABOUT = f"""\
Tells from a description of a cluster what MPI_Allreduce should take there by each algorithm, what is fastest at each size and by how
much, which resource is the limit, and what a change would bring. Nothing is measured, and no cluster is needed. nezha-cluster(5) tells
how a description is written, and what the model leaves out.

  nezha plan cluster.yaml
  nezha plan cluster.yaml --nodes 4,16,64 --what-if rail+1 --what-if rate*2 --sizes 64K:64M
  nezha plan cluster.yaml --nodes 1024 --table plan.table --page plan.html

Exit status: 0; 2 when a change or a size is not understood, or a result would replace a file that is read; 3 when the description cannot be used or a file not be written."""


def add(verbs):
    parser = verbs.add_parser("plan", help="what an allreduce should take on a cluster that is only described", description=_ABOUT)
    parser.add_argument("cluster", metavar="FILE", help="the description, YAML or JSON")
    parser.add_argument("--sizes", default=_SIZES, metavar="LIST", help=f"bytes: 4,1K,64M or 4:64M; default {_SIZES}")
    parser.add_argument("--nodes", type=numbers, metavar="LIST", help="numbers of nodes in place of the description's, as 4,16,64")
    parser.add_argument("--what-if", action="append", default=[], metavar="CHANGE",
                        help="what it would take with rail+1 (another NIC), port+1 (of the same NIC), rail-NAME (a dead one), rate*2, "
                        "aggregator+1, ranks*2, nodes*4, oversubscription*2, ...; several at once with commas; may be repeated")
    parser.add_argument("--from", action="append", default=[], dest="measured", metavar="FILE",
                        help="what was measured, which the model is fitted to: of nezha rails --json, nezha bench --json, contrib/bench "
                        "--json, or a table; may be repeated")
    parser.add_argument("--json", action="store_true", help="everything, for scripts")
    parser.add_argument("--page", type=replaceable, metavar="FILE", help="an HTML page with pictures")
    parser.add_argument("--table", type=replaceable, metavar="FILE", help="a table for coll_nezha_table to begin with")
    parser.set_defaults(run=run)


def run(options):
    from nezha_plan import report, what_if
    from nezha_plan.errors import PlanError
    paths.check_apart([options.cluster, *options.measured], {"--table": options.table, "--page": options.page})
    try:
        sizes = parse_sizes(options.sizes)
    except BenchUsage as error:
        raise UsageError(str(error)) from None
    described, fit = _described(options)
    try:
        clusters = [what_if.with_nodes(described, nodes) for nodes in options.nodes or [described.nodes]]
        plans = [report.plan(cluster, sizes, options.what_if) for cluster in clusters]
    except PlanError as error:
        raise UsageError(str(error)) from None
    written = True
    if options.table:
        written = plan_files.write_table(options.table, clusters)
    if options.page:
        written = plan_files.write_page(options.page, plans, options.cluster) and written
    if options.json:
        print(json.dumps(report.document(plans, fit), indent=1))
    else:
        if fit:
            terminal.say(tables.fitted(fit) + "\n")
        _show(plans)
    return GOOD if written else UNABLE


def _described(options):
    """The cluster, and how it was fitted to what was measured; None where nothing was."""
    from nezha_plan import calibration, description, observations
    from nezha_plan.errors import PlanError
    try:
        document = description.load(options.cluster)
        times = []
        for path in options.measured:
            kind, found = observations.read(path)
            if kind == "rails" and isinstance(document, dict):
                document = observations.with_rails(document, found)
            elif kind == "times":
                times += found
        cluster = description.cluster(document, options.cluster)
        fit = calibration.fit(cluster, times) if times else None
    except PlanError as error:
        raise CommandError(str(error)) from None
    return (fit.corrected if fit else cluster), fit


def _show(plans):
    for number, plan in enumerate(plans):
        terminal.say(("\n" if number else "") + tables.heading(plan.cluster), "bold")
        _print(*tables.by_algorithm(plan.found))
        terminal.say()
        _print(*tables.of_the_fastest(plan.found, plan.least))
        if plan.changed:
            terminal.say()
            _print(*tables.of_changes(plan.found, plan.changed))


def _print(columns, rows):
    terminal.print_table(columns, rows, right=[name for name in columns if name not in ("fastest", "is limited by")])
