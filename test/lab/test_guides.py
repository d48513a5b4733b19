# SPDX-License-Identifier: BSD-3-Clause
"""The guides in contrib/doc: every block of commands is run as it stands, on an emulated cluster with an installed Nezha."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from bench_case import BUILD, TOP
from command_case import COMMAND, COMPONENT, CommandCase
from lab_case import make_lab

GUIDES = os.path.join(TOP, "contrib", "doc")
PROGRAM = os.path.join(BUILD, "contrib", "programs", "nezha_allreduce_bench")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name, language):
    """What stands between ``` marks in one language, in order."""
    with open(os.path.join(GUIDES, name), encoding="utf-8") as file:
        return [text for word, text in BLOCK.findall(file.read()) if word == language]


class Guides(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = make_lab(cls, nodes=2, rails=["none", "none"])

    def setUp(self):
        self.place = tempfile.mkdtemp()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.place], check=True)
        self.write("hosts", "n0 slots=2\nn1 slots=2\n")
        self.write("program", f"#!/bin/sh\nexec {PROGRAM} -s 4,1M -i 20\n", 0o755)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.place, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def run_blocks(self, name):
        """Each in a shell of its own that stops at the first command that fails. What they print, together."""
        settings = self.lab.mpi_environment(component_dir=COMPONENT)
        del settings["OMPI_MCA_coll_nezha_rail_include"], settings["OMPI_MCA_btl_tcp_if_include"]
        env = {**settings, "HOME": self.place, "PATH": os.path.dirname(COMMAND) + ":" + os.environ["PATH"]}
        output = ""
        for block in blocks(name, "sh"):
            done = self.lab.exec(0, ["sh", "-euc", f"cd {self.place}\n{block}"], env=env, text=True, timeout=120,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, f"{name}:\n{block}\n{done.stdout[-3000:]}")
            output += done.stdout
        return output

    def test_users_guide(self):
        output = self.run_blocks("users-guide.md")
        self.assertRegex(output, r"tcp/eth0 +rank 0 [^#]*tcp/eth1 +rank 0 ")  # the report's table of rails
        self.assertRegex(output, r"(?m)^1\.5$")  # the mean of the ranks 0 to 3
        self.assertTrue(os.path.isfile(os.path.join(self.place, "table.json")), "the table was not saved")

    def test_administrators_guide(self):
        self.assertIn("coll_nezha_port_range", self.run_blocks("administrators-guide.md"))

    def test_developers_guide(self):
        """Its commands are for a checkout, and this build may lie elsewhere."""
        for block in blocks("developers-guide.md", "sh"):
            done = subprocess.run(["sh", "-euc", block.replace("build/check/", f"{BUILD}/")], cwd=TOP, text=True, timeout=300,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(done.returncode, 0, f"{block}\n{done.stdout[-3000:]}")

    def test_files_that_are_named_exist(self):
        """In the developer's guide, outside of commands: in the tree, or made by an example."""
        prose = BLOCK.sub("", pathlib.Path(GUIDES, "developers-guide.md").read_text(encoding="utf-8"))
        examples = "".join(path.read_text(encoding="utf-8") for path in pathlib.Path(TOP, "test", "examples").iterdir())
        for path in re.findall(r"\b((?:components|test|contrib)/[\w./-]*\w)", prose):
            self.assertTrue(os.path.exists(os.path.join(TOP, path)) or f"+++ b/{path}" in examples, path)

    def test_scripts_for_slurm(self):
        for block in blocks("users-guide.md", "bash"):
            subprocess.run(["bash", "-n"], input=block, text=True, check=True)

    def test_parameters_that_are_named_exist(self):
        known = self.ask_parameters()
        for guide in sorted(os.listdir(GUIDES)):
            with open(os.path.join(GUIDES, guide), encoding="utf-8") as file:
                named = set(re.findall(r"coll_nezha_(\w+)", file.read()))
            self.assertLessEqual(named, known, guide)

    @staticmethod
    def ask_parameters():
        rows = subprocess.run([os.path.join(BUILD, "contrib", "programs", "parameters_page"), "--rows"], text=True,
                              capture_output=True, check=True).stdout
        return {line.split("\t")[0] for line in rows.splitlines()}


if __name__ == "__main__":
    unittest.main()
