# SPDX-License-Identifier: BSD-3-Clause
"""The command line: a subcommand per module, each with add(verbs) and run(options), which returns the exit status."""

import argparse
import os
import socket
import sys

from nezha_lab.leaving import EXIT_INTERRUPTED, has_reader, leave_on_signals, output_error, tell

from . import bench, doctor, installed, node, plan, rails, report, simulate, table, tune
from .errors import GOOD, UNABLE, CommandError

_ABOUT = """\
Looks at, tunes and measures Nezha, the component of Open MPI that carries MPI_Allreduce over all networks of a node.
`nezha SUBCOMMAND --help` tells each one's options. nezha(1) is the manual, nezha-parameters(7) that of the parameters.

Exit status of all: 0 good; 1 something was found that is not as it should be; 2 wrong arguments; 3 the work could not
be done."""

_SUBCOMMANDS = (rails, doctor, tune, table, bench, report, plan, simulate)


def build_parser():
    parser = _Parser(prog="nezha", description=_ABOUT)
    parser.add_argument("--version", action="version",
                        version=f"nezha {installed.VERSION}, for Open MPI {installed.OMPI_VERSION}")
    verbs = parser.add_subparsers(dest="verb", metavar="SUBCOMMAND", required=True,
                                  parser_class=_Parser)
    for module in _SUBCOMMANDS:
        module.add(verbs)
    return parser


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def print_help(self, file=None):
        """argparse of Python 3.12 says nothing where help cannot be written."""
        print(self.format_help(), end="", file=file)


def main(arguments=None):
    if sys.stderr is None:  # closed, as by 2>&-: print() would take standard output for it
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    if sys.stdout is None:  # closed, as by >&-
        print("nezha: standard output is closed", file=sys.stderr)
        return UNABLE
    name = ["nezha"]  # in front of errors; longer when it is known what this is about
    try:
        try:
            return _main(sys.argv[1:] if arguments is None else arguments, name)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except CommandError as error:
        status, text = error.status, error
    except OSError as error:
        enough = isinstance(error, BrokenPipeError) and not has_reader(sys.stdout)  # as head has it
        if not output_error(error):
            raise
        if enough:
            return GOOD
        status, text = UNABLE, f"output cannot be written: {error.strerror}"
    tell(f"{' '.join(name)}: {text}")
    return status


def _main(arguments, name):
    if arguments[:1] == [node.VERB]:  # of a launcher, and in no help or error
        name.append(f"on {socket.gethostname()}")
        options = node.parser().parse_args(arguments[1:])
    else:
        options = _parse(arguments)
        name.append(options.verb)
    leave_on_signals()
    return options.run(options)


def _parse(arguments):
    behind = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, behind = arguments[:at], arguments[at + 1:]
    parser = build_parser()
    options = parser.parse_args(arguments)
    if behind and not hasattr(options, "hostfile"):
        parser.error(f"nezha {options.verb}: nothing is allowed after --")
    options.mpirun = behind
    return options
