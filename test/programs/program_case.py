# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program that nobody built for Nezha with the component and without it, each in a directory of its own."""

import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mpi"))

from mpi_case import COMPONENT, RAILS, mpirun  # noqa: E402 (the path must be set first)
from nezha_bench.carried import reported  # noqa: E402
from nezha_lab import Lab, LabUnavailable  # noqa: E402

UNIT = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
TIMEOUT = 240


def carried(report):
    """What rank 0's report says of the sizes: {smallest size of the class in bytes: calls}."""
    return {int(number) << UNIT[unit]: calls for (number, unit), calls in ((size.split(), calls) for size, calls in reported(report))}


def text_of(name):
    """That of a file of this folder."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


class ProgramCase(unittest.TestCase):
    """On this host, over rails between its ranks."""

    rails = RAILS

    def needs(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def directory(self, files):
        path = tempfile.mkdtemp(prefix="nezha-program-")
        self.addCleanup(shutil.rmtree, path)
        for name, text in files.items():
            with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def start(self, command, np, params, component, place):
        return mpirun(command, np, params=params, component=component, cwd=place, env=ONE_THREAD, timeout=TIMEOUT)

    def run_once(self, command, np, params, component, files):
        """The finished process and the directory it ran in, where `files` ({name: text}) lie."""
        place = self.directory(files)
        done = self.start(command, np, params, component, place)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        return done, place

    def on_and_off(self, command, np, files=None, calls=1, of_at_least=1, largest=0, learn=0):
        """Runs with rails, learning or not, and without; asserts that rails carried at least `calls` calls in size classes from
        the power of two `of_at_least` on, one of them of `largest` bytes or more."""
        off = self.run_once(command, np, {}, False, files or {})
        params = {**self.rails, "coll_nezha_report": "1", "coll_nezha_learn": str(learn)}
        on = self.run_once(command, np, params, True, files or {})
        sizes = carried(on[0].stderr)
        self.assertGreaterEqual(sum(n for size, n in sizes.items() if size >= of_at_least), calls, on[0].stderr)
        self.assertGreaterEqual(max(sizes) * 2, largest, on[0].stderr)
        return off, on


class NodesCase(ProgramCase):
    """On two emulated nodes with half of the ranks each, through their memory and over two rails."""

    rails = {}

    def setUp(self):
        self.lab = Lab(nodes=2, rails=["1gbit", "1gbit"])
        try:
            self.lab.up(ephemeral=True)
        except LabUnavailable as reason:
            self.skipTest(str(reason))
        self.addCleanup(self.lab.down)

    def start(self, command, np, params, component, place):
        options = [word for name, value in params.items() for word in ("--mca", name, value)]
        threads = [word for name in ONE_THREAD for word in ("-x", name)]
        return self.lab.mpirun([*options, *threads, *command], np=np, ppn=np // 2, timeout=TIMEOUT, cwd=place, env=ONE_THREAD,
                               nezha=component, component_dir=COMPONENT if component else None)
