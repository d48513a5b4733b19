# SPDX-License-Identifier: BSD-3-Clause
"""nezha tune: measures every way at every size on the user's nodes and keeps the fastest ones in a table."""

import contextlib
import dataclasses

from nezha_bench.arguments import more_than_0, positive
from nezha_bench.files import replaceable

from . import ask, rails, table, terminal
from .cluster_options import launch_options
from .errors import GOOD, UNABLE, CommandError, UsageError, of_bench

_ABOUT = """\
Measures MPI_Allreduce on this cluster by each way that Nezha knows, Open MPI's own among them, in alternating launches of
mpirun, and keeps for each size the fastest in FILE, which jobs are then given by --mca coll_nezha_table FILE. What FILE has
about other numbers of ranks and nodes, and about other sizes, stays. It is replaced in one step when all is measured; what
ends early, or cannot be written any more, leaves a table of what it has measured in the directory for temporary files.

  nezha tune table.json -- -np 4 --hostfile hosts --map-by ppr:1:node
  nezha tune --sizes 64K:64M --ways ring,mesh,incumbent table.json -- -np 4 --hostfile hosts
  nezha table show table.json

The nodes should have nothing else to do. After the first round what is far behind at a size is not measured there again.
Where the nodes have several rails, each of them alone is measured too, and kept where it is clearly faster.
Exit status: 0; 3 when a launch failed, or the rails did not carry what they should have."""

_WAYS = "single_step,doubling,mesh,halving,ring,incumbent"


def add(verbs):
    parser = verbs.add_parser("tune", help="measure every way at every size, and keep the fastest in a table", description=_ABOUT)
    launch_options(parser)
    parser.add_argument("file", type=replaceable, metavar="FILE", help="made, or added to")
    parser.add_argument("--sizes", default="4:16M", metavar="LIST",
                        help="powers of two, as 4,1K,64M or 4:64M; each stands for all up to twice as much; default 4:16M")
    parser.add_argument("--ways", metavar="LIST",
                        help=f"of {_WAYS.replace(',', ', ')}; any but the first two and the last with a chunk, as in ring:64k, and any "
                        "but the last by one rail alone, as in ring:64k@tcp/eth1; default all, and all by each rail alone")
    parser.add_argument("--rounds", type=positive, default=5, metavar="N", help="default 5")
    parser.add_argument("--time", type=more_than_0, default=0.1, metavar="SECONDS", help="per size and launch; default 0.1")
    parser.set_defaults(run=run)


def run(options):
    try:
        from nezha_bench.errors import BenchError

        from . import cluster, sweep, table_file
    except ModuleNotFoundError as error:
        raise CommandError(f"Python's module {error.name} is missing: install python3-{error.name}") from None
    table_file.check(options.file)  # before the time is spent
    try:
        sizes = _sizes(options.sizes)
        ways = [_way(word, sweep) for word in (options.ways or _WAYS).split(",")]
        with terminal.Progress() as progress:
            if not options.ways or any(way.rail for way in ways):
                progress.step("asking the nodes for their rails")
                ways = _by_rail(ways, rails.common(options), options)
            found = sweep.Sweep(cluster.Cluster(options.mpirun), ways, sizes, options.time, options.nezha_mca)
            lacking = [size for size in sizes if not found.times[size]]
            if lacking:
                raise UsageError(f"no way of {options.ways or _WAYS} is possible for vectors of {lacking[0]} bytes")
            with _kept(options.file, found, table_file):
                found.run(options.rounds, progress.step)
    except BenchError as error:
        raise of_bench(error) from None
    if not table_file.add(options.file, found.ranks, found.nodes, found.results()):
        return UNABLE
    table.show(ask.table(options.file))
    return GOOD


@contextlib.contextmanager
def _kept(path, found, table_file):
    """Where it is left by an error or a signal after the first round, what was measured until then is kept elsewhere."""
    try:
        yield
    except BaseException:
        if found.rounds:
            results = {size: measured for size, measured in found.results().items() if measured}
            table_file.keep(path, found.ranks, found.nodes, results, f"{path} stays as it is, for only {found.rounds} rounds are complete")
        raise


def _sizes(text):
    from nezha_bench.sizes import check_powers_of_two, parse_sizes
    sizes = parse_sizes(text)
    check_powers_of_two(sizes, "for a table goes by these")
    return sizes


def _by_rail(ways, names, options):
    """Adds what the user has left to us, or makes sure that every node has what he named."""
    if options.ways:
        for way in ways:
            if way.rail and way.rail not in names:
                raise UsageError(f"--ways {way.text()}: the rails that every node has are {', '.join(names) or 'none'}")
        return ways
    if len(names) < 2 or any(key == "coll_nezha_share" for key, _ in options.nezha_mca):
        return ways
    return [*ways, *(dataclasses.replace(way, rail=name) for way in ways if way.algorithm != "incumbent" for name in names)]


def _way(word, sweep):
    """'ring', 'ring:64k', 'ring@tcp/eth1' or 'ring:64k@tcp/eth1'"""
    from nezha_bench.sizes import parse_size
    algorithm, at, rail = word.partition("@")
    name, colon, chunk = algorithm.partition(":")
    bad = (colon and name in ("single_step", "doubling", sweep.INCUMBENT)) or (at and (not rail or name == sweep.INCUMBENT))
    if name not in sweep.LARGEST or bad:
        raise UsageError(f"--ways {word}: {_WAYS.replace(',', ', ')} are allowed, mesh, halving and ring with a chunk, as in "
                           "ring:64k, and all but incumbent by one rail, as in ring@tcp/eth1")
    size = parse_size(chunk) if colon else 0
    if colon and not 512 <= size <= 256 << 10:
        raise UsageError(f"--ways {word}: chunks have 512 bytes to 256k")
    return sweep.Way(name, size, rail)
