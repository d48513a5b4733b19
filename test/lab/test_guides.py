# SPDX-License-Identifier: BSD-3-Clause
"""README.md and the guides in contrib/doc: the commands are run as they stand, on an emulated cluster with an installed Nezha."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from bench_case import BUILD, HERE, TOP
from command_case import COMMAND, COMPONENT, CommandCase, plain
from documents import BLOCK, GUIDES, blocks, long_commands, manual_example
from lab_case import make_lab

PROGRAM = os.path.join(BUILD, "contrib", "programs", "nezha_allreduce_bench")
# What the examples that measure are given to take seconds.
SHORTER = {"nezha bench": "--sizes 4K --rounds 1 --time 0.02", "nezha tune": "--sizes 256K --ways ring,incumbent --rounds 1 --time 0.02"}


class Checkout(unittest.TestCase):
    """Commands for a checkout, for this build."""

    def test_the_lab(self):
        found = [block for block in blocks("lab-and-bench.md", "sh") if block.startswith("contrib/lab ")]
        self.assertEqual(len(found), 1)
        name = f"guide-{os.getpid()}"
        self.addCleanup(subprocess.run, [os.path.join(TOP, "contrib", "lab"), "down", name], capture_output=True, check=False)
        block = re.sub(r"\bmine\b", name, found[0].replace("build/default/", f"{BUILD}/"))
        done = subprocess.run(["sh", "-euc", block], cwd=TOP,
                              text=True, timeout=300, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode == 77:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stdout[-1500:] + done.stderr[-1500:])
        self.assertRegex(done.stderr, r"tcp/eth0 +rank 0 [^#]*tcp/eth1 +rank 0 ")

    def test_what_takes_minutes_is_run_in_a_shorter_form(self):
        """contrib/bench and contrib/faults as they stand would take an hour: tests of theirs ask documents.py for these
        commands, by how they begin, and add options that make them short."""
        tests = "".join(path.read_text(encoding="utf-8") for path in sorted(pathlib.Path(HERE).glob("test_*.py")))
        run = re.findall('"(contrib/(?:bench|faults) [^"]+)"', tests)
        commands = long_commands()
        self.assertGreater(len(commands), 8)
        for command in commands:
            self.assertTrue(command.startswith(tuple(run)), f"no test asks for {command}")


class OnNodes(CommandCase):
    """In a directory of node n0 with ./program and hosts."""

    def setUp(self):
        self.place = tempfile.mkdtemp()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.place], check=True)
        self.write("hosts", "n0 slots=2\nn1 slots=2\n")
        self.write("program", f"#!/bin/sh\nexec {PROGRAM} -s 4,1M -i 20\n", 0o755)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def run_blocks(self, name):
        """Each in a shell of its own that stops at the first command that fails. What they print, together."""
        return "".join(self.run_block(name, block) for block in blocks(name, "sh"))

    def run_block(self, name, block):
        settings = self.lab.mpi_environment(component_dir=COMPONENT)
        del settings["OMPI_MCA_coll_nezha_rail_include"], settings["OMPI_MCA_btl_tcp_if_include"]
        env = {**settings, "HOME": self.place, "PATH": os.path.dirname(COMMAND) + ":" + os.environ["PATH"]}
        done = self.lab.exec(0, ["sh", "-euc", f"cd {self.place}\n{block}"], env=env, text=True, timeout=300,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, f"{name}:\n{block}\n{done.stdout[-3000:]}")
        return done.stdout


class Guides(OnNodes):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = make_lab(cls, nodes=2, rails=["none", "none"])

    def test_readme_for_a_cluster(self):
        """But for building and installing; with a rank for each slot that there is."""
        (block,) = blocks("README.md", "sh")
        block = re.sub(r"^\./configure .*\n", "", block, flags=re.MULTILINE).replace("-np 64", "-np 4")
        self.assertIn("mpirun -np 4 ", block)
        output = self.run_block("README.md", block)
        self.assertRegex(output, r"tcp/eth0 +rank 0 [^#]*tcp/eth1 +rank 0 ")

    def test_parameters(self):
        self.assertIn("mca-params.conf", "".join(blocks("parameters.md", "sh")))
        self.assertIn("coll_nezha_rail_include", self.run_blocks("parameters.md"))

    def test_users_guide(self):
        output = self.run_blocks("users-guide.md")
        self.assertRegex(output, r"tcp/eth0 +rank 0 [^#]*tcp/eth1 +rank 0 ")  # the report's table of rails
        self.assertRegex(output, r"(?m)^(1\.5)+$")  # the mean of the ranks 0 to 3, whose lines may meet
        self.assertIn("MCA coll: nezha", output)
        for name in ("table.json", "report.html"):
            self.assertTrue(os.path.isfile(os.path.join(self.place, name)), f"there is no {name}")

    def test_planning(self):
        self.assertRegex(self.run_blocks("planning.md"), r"(?m)^1024 nodes, 2 ranks each, ")

    def test_administrators_guide(self):
        self.assertIn("coll_nezha_port_range", self.run_blocks("administrators-guide.md"))

    def test_opt_in(self):
        """Off by the administrator's file of parameters, and on by the environment."""
        (parameters,) = blocks("administrators-guide.md", "conf")
        self.write(".openmpi/mca-params.conf", parameters)
        command = "mpirun --hostfile hosts -np 4 --mca coll_nezha_report 1 ./program"
        self.assertNotRegex(self.run_block("opt-in", command), "Nezha:|tcp/eth0")
        self.assertIn("tcp/eth0", self.run_block("opt-in", f"export OMPI_MCA_coll_nezha_enable=1\n{command}"))

    def test_administrators_files_and_settings(self):
        """What it has Open MPI's file of parameters say is taken, and the kernel takes what it is to be told."""
        (parameters,) = [block for block in blocks("administrators-guide.md", "text") if "coll_nezha_" in block]
        (kernel,) = [block for block in blocks("administrators-guide.md", "text") if block.startswith("sysctl ")]
        self.write(".openmpi/mca-params.conf", parameters)
        output = self.run_block("administrators-guide.md", f"{kernel}\nompi_info --param coll nezha --level 9 --parsable")
        self.assertIn("net.ipv4.conf.all.arp_ignore = 1\n", output)
        for name, value in re.findall(r"(?m)^coll_(nezha_\w+) = (.*)$", parameters):
            self.assertIn(f"mca:coll:nezha:param:coll_{name}:value:{value}\n", output.replace('"', ""))

    def test_developers_guide(self):
        """Its commands are for a checkout, and this build may lie elsewhere."""
        for block in blocks("developers-guide.md", "sh"):
            done = subprocess.run(["sh", "-euc", block.replace("build/check/", f"{BUILD}/")], cwd=TOP, text=True, timeout=300,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(done.returncode, 0, f"{block}\n{done.stdout[-3000:]}")

    def test_links(self):
        """Between the documents: each leads to a file."""
        for document in [*pathlib.Path(TOP).glob("*.md"), *pathlib.Path(GUIDES).glob("*.md")]:
            for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
                self.assertTrue(document.parent.joinpath(target).exists(), f"{document.name}: {target}")

    def test_texts_that_are_quoted_exist(self):
        """Those that troubleshooting.md tells by their words, with ... for what varies."""
        texts = plain(pathlib.Path(TOP, "ompi", "mca", "coll", "nezha", "help-coll-nezha.txt").read_text(encoding="utf-8"))
        quoted = re.findall(r'\btext "([^"]+)"', pathlib.Path(GUIDES, "troubleshooting.md").read_text(encoding="utf-8"))
        self.assertGreater(len(quoted), 8)
        for words in quoted:
            self.assertRegex(texts, ".*".join(map(re.escape, words.split(" ... "))))

    def test_files_that_are_named_exist(self):
        """In the developer's guide, outside of commands: in the tree, or made by an example."""
        prose = BLOCK.sub("", pathlib.Path(GUIDES, "developers-guide.md").read_text(encoding="utf-8"))
        examples = "".join(path.read_text(encoding="utf-8") for path in pathlib.Path(TOP, "test", "examples").iterdir())
        for path in re.findall(r"\b((?:components|test|contrib)/[\w./-]*\w)", prose):
            self.assertTrue(os.path.exists(os.path.join(TOP, path)) or f"+++ b/{path}" in examples, path)

    def test_parameters_that_are_named_exist(self):
        """Or counters. Functions are named with (), files with their endings."""
        known = self.ask_parameters() | self.counters()
        for guide in sorted(os.listdir(GUIDES)):
            with open(os.path.join(GUIDES, guide), encoding="utf-8") as file:
                named = set(re.findall(r"coll_nezha_(\w+)\b(?!\(|\.[ch]\b)", file.read()))
            self.assertLessEqual(named, known, guide)

    @staticmethod
    def ask_parameters():
        rows = subprocess.run([os.path.join(BUILD, "contrib", "programs", "parameters_page"), "--rows"], text=True,
                              capture_output=True, check=True).stdout
        return {line.split("\t")[0] for line in rows.splitlines()}

    @staticmethod
    def counters():
        source = pathlib.Path(TOP, "ompi", "mca", "coll", "nezha", "coll_nezha_pvars.c").read_text(encoding="utf-8")
        rows = {kind: re.findall(r'(?m)^    \{"(\w+)", ', table) for kind, table in
                re.findall(r"(?ms)^static const \w+ (\w+)_values\[\] = \{\n(.*?)^\};", source)}
        return {*re.findall(r'add\(component, "(\w+)"', source), *(f"{kind}_{name}" for kind, names in rows.items() for name in names)}


class Manual(OnNodes):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = make_lab(cls, nodes=4, rails=["100mbit", "100mbit"])

    def test_examples(self):
        """nezha(1)'s, one after the other; they would measure for many minutes, so sizes, ways and rounds are the fewest."""
        self.write("hosts", "".join(f"n{node}\n" for node in range(4)))
        lines = manual_example("nezha.1").splitlines()
        self.assertGreater(len(lines), 6)
        self.assertLessEqual(set(SHORTER), {" ".join(line.split()[:2]) for line in lines})
        for beginning, shorter in SHORTER.items():
            lines = [line.replace(" -- ", f" {shorter} -- ") if line.startswith(beginning) else line for line in lines]
        output = self.run_block("nezha.1", "\n".join(["export OMPI_MCA_coll_nezha_rail_exclude=mgmt", *lines]))
        self.assertRegex(output, r"(?m)^n3 +tcp/eth1 ")
        self.assertIn("4 ranks on 4 nodes", output)
        self.assertTrue(os.path.getsize(os.path.join(self.place, "report.html")))


if __name__ == "__main__":
    unittest.main()
