# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program that nobody built for Nezha with the component and without it, each in a directory of its own."""

import os
import re
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mpi"))

from mpi_case import RAILS, mpirun  # noqa: E402 (the path must be set first)

ROW = re.compile(r"^  from +(\d+) (B|KiB|MiB|GiB) +(\d+) ", re.MULTILINE)
UNIT = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}


def carried(report):
    """What rank 0's report says of the sizes: {smallest size of the class in bytes: calls}."""
    return {int(size) << UNIT[unit]: int(calls) for size, unit, calls in ROW.findall(report)}


class ProgramCase(unittest.TestCase):
    def needs(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def directory(self):
        path = tempfile.mkdtemp(prefix="nezha-program-")
        self.addCleanup(shutil.rmtree, path)
        return path

    def run_once(self, command, np, params, component, files=()):
        """The finished process and the directory it ran in."""
        place = self.directory()
        for file in files:
            shutil.copy(os.path.join(HERE, file), place)
        done = mpirun(command, np, params=params, component=component, cwd=place, env={"OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        return done, place

    def on_and_off(self, command, np, files=(), calls=1, of_at_least=1, largest=0, learn=0):
        """Runs with rails, learning or not, and without; asserts that rails carried at least `calls` calls in size classes from
        the power of two `of_at_least` on, one of them of `largest` bytes or more."""
        off = self.run_once(command, np, {}, False, files)
        on = self.run_once(command, np, {**RAILS, "coll_nezha_report": "1", "coll_nezha_learn": str(learn)}, True, files)
        sizes = carried(on[0].stderr)
        self.assertGreaterEqual(sum(n for size, n in sizes.items() if size >= of_at_least), calls, on[0].stderr)
        self.assertGreaterEqual(max(sizes) * 2, largest, on[0].stderr)
        return off, on
