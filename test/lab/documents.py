# SPDX-License-Identifier: BSD-3-Clause
"""The commands in README.md, the guides and the manual pages, for the tests that run them."""

import os
import pathlib
import re
import shlex

from bench_case import TOP

GUIDES = os.path.join(TOP, "contrib", "doc")
MANUALS = os.path.join(TOP, "contrib", "man")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONG = re.compile(r"contrib/(?:bench|faults) .*-.*")


def read(*path):
    return pathlib.Path(*path).read_text(encoding="utf-8")


def blocks(name, language):
    """What stands between ``` marks in one language in a guide, or in README.md, in order."""
    return [text for word, text in BLOCK.findall(read(TOP if name == "README.md" else GUIDES, name)) if word == language]


def manual_example(name):
    """What stands under EXAMPLE or EXAMPLES between the marks that keep lines as they are."""
    return re.search(r"(?s)\.SH EXAMPLES?\n.*?\.(nf|EX)\n(.*?)\.(fi|EE)", read(MANUALS, name))[2].replace("\\-", "-")


def long_commands():
    """Those that measure, for minutes as they stand: in blocks or between backticks, without remarks behind them."""
    found = []
    for path in [os.path.join(TOP, "README.md"), os.path.join(TOP, "SECURITY.md"),
                 *(os.path.join(GUIDES, name) for name in sorted(os.listdir(GUIDES)))]:
        text = read(path)
        inline = re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))
        found += [line.partition(" #")[0].strip() for line in [*text.splitlines(), *inline] if LONG.match(line.strip())]
    return found


def options(beginning):
    """The words behind contrib/bench or contrib/faults of the first long command that begins so. test_guides.py looks whether
    each begins with something that a test has given here."""
    line = next(line for line in long_commands() if line.startswith(beginning))
    return shlex.split(line)[1:]
