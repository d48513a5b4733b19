# SPDX-License-Identifier: BSD-3-Clause
"""nezha bench: this cluster with Nezha and without, in alternating launches."""

import dataclasses

from nezha_bench.arguments import more_than_0, positive
from nezha_bench.files import picture, replaceable
from nezha_lab.leaving import EXIT_INTERRUPTED

from .cluster_options import add_sizes, effort_of, launch_options
from .errors import FOUND, GOOD, CommandError, of_bench

_ABOUT = """\
Measures MPI_Allreduce on this cluster with Nezha and without (coll_nezha_enable 0) in alternating launches of mpirun. Nezha
is launched twice a round: what it differs from itself is the noise floor, and differences below it are called not
resolvable. Every element of every result is checked. Times are osu_allreduce's.

  nezha bench -- -np 4 --hostfile hosts --map-by ppr:1:node
  nezha bench --sizes 64K,1M,16M --rounds 15 --json bench.json --picture bench.png -- -np 4 --hostfile hosts
  nezha report bench.json

Exit status: 0; 1 when Nezha did not carry what it should have, so that its column is not about it; 3 when a launch failed."""


def add(verbs):
    parser = verbs.add_parser("bench", help="this cluster with Nezha and without, in alternating launches", description=_ABOUT)
    launch_options(parser)
    add_sizes(parser)
    parser.add_argument("--time", type=more_than_0, default=0.25, metavar="SECONDS", help="per size and launch; default 0.25")
    parser.add_argument("--rounds", type=positive, default=9, metavar="N", help="default 9")
    parser.add_argument("--json", type=replaceable, metavar="FILE", help="everything, with the raw values of every round; for nezha report")
    parser.add_argument("--picture", type=picture, metavar="FILE", help="a .png, .svg or .pdf")
    parser.set_defaults(run=run)


def run(options):
    try:
        from nezha_bench import document, progress, rounds, summary, table
        from nezha_bench.competitors import NEZHA
        from nezha_bench.errors import UNWRITTEN, BenchError

        from . import cluster
        if options.picture:
            from nezha_bench import picture as drawing
    except ModuleNotFoundError as error:
        raise CommandError(f"Python's module {error.name} is missing: install python3-{error.name}") from None
    effort = effort_of(options, options.time)
    launcher = cluster.Launcher(effort, options.nezha_mca)
    try:
        launches = options.rounds * (len(cluster.COMPETITORS) + 1)
        with progress.make("bench", NEZHA, launches, len(effort.sizes)) as seen:
            measured = rounds.measure(cluster.Cluster(options.mpirun), launcher, NEZHA, cluster.COMPETITORS, options.rounds, seen)
        measured.case = dataclasses.replace(measured.case, nodes=_ranks(measured))
        found = summary.summarise(measured)
    except BenchError as error:
        raise of_bench(error) from None
    # Files before the table, which a reader of our output may end, as head does.
    written = True
    if options.json:
        whole = document.start()
        document.add_case(whole, measured, found, launcher)
        written = document.write(whole, options.json)
    if options.picture:
        written = drawing.draw(found, options.picture) and written
    table.print_summary(found)
    if measured.failure or not written:
        raise CommandError(str(measured.failure or UNWRITTEN))
    return EXIT_INTERRUPTED if measured.interrupted else FOUND if found["invalid"] else GOOD


def _ranks(measured):
    headers = [launch.header for launches in measured.rounds for launch in launches.values()]
    return headers[0].get("ranks", 0) if headers else 0
