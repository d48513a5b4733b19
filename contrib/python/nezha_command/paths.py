# SPDX-License-Identifier: BSD-3-Clause
"""Which files of a command line are one and the same, whatever names and links lead there."""

import os

from .errors import UsageError


def check_apart(inputs, outputs):
    """UsageError where a result would replace an input or another result. outputs: {option: path, or None}."""
    taken = {os.path.realpath(path): path for path in inputs}
    for option, path in outputs.items():
        if path is None:
            continue
        other = taken.setdefault(os.path.realpath(path), option)
        if other != option:
            raise UsageError(f"{option} {path}: that is the file of {other}" if other in outputs else
                             f"{option} {path} would replace {other}, which is read")
