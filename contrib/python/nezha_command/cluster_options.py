# SPDX-License-Identifier: BSD-3-Clause
"""The options of what launches a benchmark: sizes, parameters, and how long."""

from nezha_bench.errors import BenchError
from nezha_bench.sizes import parse_sizes

from .errors import of_bench


def launch_options(parser):
    """What follows -- is mpirun's; without it mpirun decides by itself where it runs."""
    parser.set_defaults(hostfile=None)
    parser.add_argument("--mca", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"), dest="nezha_mca",
                        help="a parameter for the launches with Nezha only")


def add_sizes(parser):
    parser.add_argument("--sizes", default="4,1K,4K,16K,64K,256K,1M,4M,16M", metavar="LIST",
                        help="4,1K,64M or 4:64M, the powers of two between; default 4 to 16M")


def effort_of(options, seconds=0.25):
    from nezha_bench.competitors import Effort
    try:
        sizes = tuple(parse_sizes(options.sizes))
    except BenchError as error:
        raise of_bench(error) from None
    return Effort(sizes, seconds)
