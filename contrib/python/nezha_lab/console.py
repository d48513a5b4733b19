# SPDX-License-Identifier: BSD-3-Clause
"""Rich's console, whose output fails like any other's."""

import errno
import os

import rich.console


class Console(rich.console.Console):
    def on_broken_pipe(self):
        """Rich 13.8 and newer would end the program, and what it has measured would be lost."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
