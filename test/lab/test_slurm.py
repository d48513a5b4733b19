# SPDX-License-Identifier: BSD-3-Clause
"""The user's guide to Slurm: its script and commands are run as they stand, by a Slurm on emulated nodes."""

import os
import re
import shutil
import tempfile
import unittest

from command_case import CommandCase
from documents import blocks
from slurm_case import Slurm
from test_guides import PROGRAM

NODES = 4  # as many as the guide asks for
TWO_RAILS = r"tcp/eth0 +rank 0 [^#]*tcp/eth1 +rank 0 "


class OnSlurm(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.slurm = Slurm(cls, NODES)

    def setUp(self):
        self.place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.place)
        with open(os.path.join(self.place, "program"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {PROGRAM} -s 4,1M -i 20\n")
        os.chmod(file.name, 0o755)

    def good(self, script, **env):
        """What a script has printed that ended well."""
        done = self.slurm.run(script, cwd=self.place, **env)
        self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout[-3000:]}{self.slurm.logs()}")
        return done.stdout

    def test_script(self):
        scripts = [block for block in blocks("users-guide.md", "bash") if block.startswith("#!")]
        self.assertEqual(len(scripts), 1)
        with open(os.path.join(self.place, "job.sh"), "w", encoding="utf-8") as file:
            file.write(scripts[0])
        output = self.good("sbatch --wait --output=out job.sh; cat out", OMPI_MCA_coll_nezha_report="1")
        self.assertRegex(output, TWO_RAILS)
        self.assertRegex(output, f"Nezha's report: {NODES} ranks")
        self.assertNotIn("tcp/mgmt", output)

    def test_commands(self):
        for block in blocks("users-guide.md", "bash"):
            if not block.startswith("#!"):
                output = self.good(block, OMPI_MCA_coll_nezha_rail_include="eth0,eth1")
                if "report" in block:
                    self.assertRegex(output, TWO_RAILS)

    def test_several_tasks_on_a_node(self):
        """One of them speaks."""
        output = self.good('nezha rails --launcher "srun -N2 --ntasks-per-node=2"; nezha rails --launcher "srun -N2 -n3"')
        self.assertEqual(re.findall(r"(?m)^(n\d) +tcp/eth0 ", output), ["n0", "n1"] * 2)

    def test_the_doctor_by_srun(self):
        """Each node speaks for itself."""
        output = self.good("srun -N2 --ntasks-per-node=2 nezha doctor")
        self.assertEqual(sorted(re.findall(r"(?m)^node (n\d) alone, 3 rails$", output)), ["n0", "n1"])


if __name__ == "__main__":
    unittest.main()
