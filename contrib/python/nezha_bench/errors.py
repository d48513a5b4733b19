# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong and is to be told in one sentence, without a traceback."""

# A command's status when a column is not about what its heading says.
EXIT_INVALID = 3


UNWRITTEN = "a file could not be written, see above"


class BenchError(Exception):
    """status: what a command then ends with."""

    status = 1


class BenchUsage(BenchError):
    """A wrong argument; the status is argparse's own."""

    status = 2
