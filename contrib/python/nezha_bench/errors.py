# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong and is to be told in one sentence, without a traceback."""

# A command's status when a column is not about what its heading says.
EXIT_INVALID = 3


class BenchError(Exception):
    pass
