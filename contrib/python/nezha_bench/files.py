# SPDX-License-Identifier: BSD-3-Clause
"""Names of files on a command line."""

import argparse
import os


def is_no_file(path):
    """Whether a pipe, a device or a directory has that name."""
    return os.path.exists(path) and not os.path.isfile(path)


def replaceable(path):
    """For argparse: a file that is to be made or replaced. A device would be replaced, too, and a pipe wait for its reader."""
    if is_no_file(path):
        raise argparse.ArgumentTypeError(f"'{path}': it is no regular file")
    return path
