# SPDX-License-Identifier: BSD-3-Clause
"""Which files of a command line are one and the same, whatever names and links lead there."""

import collections
import os

from .errors import UsageError


def check_each_once(inputs):
    """UsageError where an input is named twice."""
    count = collections.Counter(map(os.path.realpath, inputs))
    for path in inputs:
        if count[os.path.realpath(path)] > 1:
            raise UsageError(f"{path} is named more than once")


def printable(path):
    """Without the bytes that are no UTF-8, which neither a page nor a terminal takes."""
    return os.fsencode(path).decode(errors="replace")


def names(inputs):
    """{path: what tells it apart from the others}: its last part, or all of it where others end in the same."""
    count = collections.Counter(map(os.path.basename, inputs))
    return {path: printable(os.path.basename(path) if count[os.path.basename(path)] == 1 else path) for path in inputs}


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
