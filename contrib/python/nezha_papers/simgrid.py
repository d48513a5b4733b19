# SPDX-License-Identifier: BSD-3-Clause
"""Cross-check of nezha simulate: the messages of our own allreduces by SimGrid, on a platform with the same rates and latencies."""

import os
import subprocess
import tempfile

from nezha_bench.sizes import size_text
from nezha_command.errors import CommandError

from .row import Row

PAPER = "simgrid"
RANKS = (4, 16)
# Why they differ stands in words.py.
ALLOWED = {("ring", 1 << 20): 0.05, ("halving", 1 << 20): 0.05, ("halving", 64 << 10): 0.10, ("mesh", 1 << 20): 0.15,
           ("doubling", 1 << 20): 0.10}


def program(build):
    """Where a build has it if configure has found SimGrid."""
    return os.path.join(build, "contrib", "simulate", "nezha_simgrid")


def rows():
    return []  # without a build


def of_build(build, _):
    """(rows, remarks). CommandError where a program fails."""
    if not os.access(program(build), os.X_OK):
        return [], ["Not compared: configure did not find SimGrid (contrib/install-packages programs)."]
    return [_row(build, algorithm, size, ranks, allowed) for (algorithm, size), allowed in ALLOWED.items() for ranks in RANKS], []


def _row(build, algorithm, size, ranks, allowed):
    with tempfile.NamedTemporaryFile(prefix="nezha-", suffix=".traffic") as traffic:
        _run([os.path.join(os.path.dirname(program(build)), "nezha_traffic"), algorithm, str(ranks), str(size)], traffic)
        ours, theirs = map(float, _run([program(build), traffic.name], subprocess.PIPE).split()[1:])
    return Row(PAPER, f"{algorithm} of {size_text(size)}, {ranks} ranks", theirs, ours, "us", allowed, test="test_simgrid.test_allreduces")


def _run(words, output):
    try:
        return subprocess.run(words, stdout=output, stderr=subprocess.PIPE, text=True, check=True).stdout
    except OSError as error:
        raise CommandError(f"{words[0]} cannot be run ({error.strerror})") from None
    except subprocess.CalledProcessError as error:
        raise CommandError(f"{words[0]} ended with status {error.returncode}: {error.stderr.strip()}") from None
