# SPDX-License-Identifier: BSD-3-Clause
"""nezha plan: what an allreduce should take on a cluster that is only described."""

from nezha_bench.errors import BenchUsage
from nezha_bench.sizes import parse_sizes, size_text
from nezha_plan import answers, description
from nezha_plan.errors import PlanError
from nezha_plan.units import time_text

from . import terminal
from .errors import GOOD, CommandError, UsageError

_ABOUT = """\
Tells from a description of a cluster what MPI_Allreduce should take there."""

_SIZES = "4,256,1K,4K,16K,64K,256K,1M,4M,16M,64M"


def add(verbs):
    parser = verbs.add_parser("plan", help="what an allreduce should take on a cluster that is only described", description=_ABOUT)
    parser.add_argument("cluster", metavar="FILE", help="the description, YAML or JSON")
    parser.add_argument("--sizes", default=_SIZES, metavar="LIST", help=f"bytes: 4,1K,64M or 4:64M; default {_SIZES}")
    parser.set_defaults(run=run)


def run(options):
    try:
        sizes = parse_sizes(options.sizes)
        cluster = description.cluster(description.load(options.cluster))
    except BenchUsage as error:
        raise UsageError(str(error)) from None
    except PlanError as error:
        raise CommandError(str(error)) from None
    rows = [(size_text(found.size), found.best.way.text(), time_text(found.best.seconds), found.best.limit,
             found.next.way.text(), f"{found.margin:.2f} x") for found in answers.answers(cluster, sizes)]
    terminal.print_table(("size", "way", "takes", "limit", "next best", "takes"), rows, right=("size", "takes"))
    return GOOD
