#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A component in the user's home, and an mpirun that is told nothing: what `make install` leaves there is enough."""

import os
import shutil
import subprocess
import tempfile
import unittest

from mpi_case import COMPONENT, HERE, RAILS, MpiCase

COMPONENT_PATH = os.path.join(HERE, "..", "..", "contrib", "component-path")


@unittest.skipIf(os.environ.get("NEZHA_PRELOAD"), "one way to the component is enough under a sanitizer")
class Home(MpiCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="nezha-home-")
        self.addCleanup(shutil.rmtree, self.home)
        self.components = os.path.join(self.home, ".openmpi", "components")
        self.file = os.path.join(self.home, ".openmpi", "mca-params.conf")

    def component_path(self, what):
        subprocess.run([COMPONENT_PATH, what, self.file], check=True)

    def run_there(self):
        params = {**RAILS, "coll_nezha_report": "1"}
        return self.passes("counters", 2, "20", "20", params=params, component=False, env={"HOME": self.home})

    def test_found(self):
        shutil.copytree(COMPONENT, self.components)
        self.component_path("add")
        self.assertIn("Nezha's report", self.run_there().stderr)
        self.component_path("remove")
        self.assertEqual(os.listdir(os.path.join(self.home, ".openmpi")), ["components"])

    def test_absent(self):
        self.component_path("add")
        done = self.run_there()
        self.nothing_carried(done)
        self.assertNotIn("Nezha", done.stderr)


if __name__ == "__main__":
    unittest.main()
