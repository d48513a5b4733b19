# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong and is to be told in one sentence, without a traceback."""


class BenchError(Exception):
    pass
