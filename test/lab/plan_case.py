# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of nezha plan share: a small cluster, the command in this process, and files for it."""

import io
import json
import os
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout

from bench_case import TOP
from lab_case import PYTHON_DIR  # noqa: F401 (its import makes nezha_command importable)

from nezha_command import cli

LEARNED, BENCH = (os.path.join(TOP, "test", "tables", name) for name in ("learned.json", "bench.json"))
SMALL = {"nodes": 4, "rails": [{"name": "tcp/eth0", "rate": "25gbit"}, {"name": "tcp/eth1", "rate": "25gbit"}], "cpu": {"rail_threads": True}}


def run(*words):
    """(status, standard output, standard error) of the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = cli.main(["plan", *words])
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), err.getvalue()


class Place(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = directory.name

    def path(self, name):
        return os.path.join(self.place, name)

    def file(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)
