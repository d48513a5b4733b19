# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong and is to be told in one sentence, without a traceback."""

# A command's status when a column is not about what its heading says.
EXIT_INVALID = 3


# The status of wrong arguments; argparse's own.
EXIT_USAGE = 2
UNWRITTEN = "a file could not be written, see above"


class BenchError(Exception):
    pass
