#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The developer's guide's examples, test/examples/*.patch: each applies to the tree, and with it what it brings works."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "test" / "examples"
GUIDE = TOP / "contrib" / "doc" / "developers-guide.md"
NOT_SOURCES = shutil.ignore_patterns(".git", "build", "_build", "autom4te.cache", "nezha-[0-9]*", "*.o", "*.lo", "*.la",
                                     ".libs", ".deps", "Makefile", "config.status", "__pycache__")
# What each brings to be run, under test/threads.
TESTS = {"algorithm": "test_hub", "parameter": "test_rail_limit", "rail": "test_memory_rail"}
PROGRAMS = [*(f"test/threads/{name}" for name in TESTS.values()), "contrib/programs/parameters_page"]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """All of them, one after the other as commits would be, in a copy of the tree; built once, since that takes a minute."""
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="nezha-examples-"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.tree, cls.build = cls.place / "tree", cls.place / "build"
        shutil.copytree(TOP, cls.tree, ignore=NOT_SOURCES, symlinks=True)
        cls.build.mkdir()
        for name in TESTS:
            cls.must(["patch", "--batch", "--forward", "-p1", "-i", EXAMPLES / f"{name}.patch"], cls.tree)
        cls.must([cls.tree / "autogen.sh"], cls.tree)
        cls.must([cls.tree / "configure", "--disable-dependency-tracking", "CFLAGS=-O0", "CXXFLAGS=-O0"], cls.build)
        cls.words = cls.must(["make", f"-j{len(os.sched_getaffinity(0))}", "PRECOMPILED=standard", *PROGRAMS], cls.build)

    @staticmethod
    def must(command, cwd):
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command[0]}: status {done.returncode}\n{done.stdout[-3000:]}")
        return done.stdout

    def test_no_warning(self):
        self.assertEqual(re.findall(r"(?m)^.*warning:.*$", self.words), [])

    def test_layers(self):
        self.assertNotIn("not ok", self.must([sys.executable, self.tree / "test" / "layers_check.py", self.tree], self.tree))

    def test_what_they_bring(self):
        for name, program in TESTS.items():
            with self.subTest(name):
                self.assertIn("[  PASSED  ]", self.must([self.build / "test" / "threads" / program], self.build))

    def test_the_parameter_is_told(self):
        self.assertIn("\nrail_limit\t16\t", self.must([self.build / PROGRAMS[-1], "--rows"], self.build))

    def test_the_guide_names_each_file(self):
        """What an example touches outside test/ is what the guide says has to be touched, and no more than that."""
        guide = GUIDE.read_text(encoding="utf-8")
        for name in TESTS:
            section = re.search(rf"(?ms)^## An? {name}\n(.*?)(?=^## |\Z)", guide)[1]
            touched = re.findall(r"(?m)^\+\+\+ b/(\S+)", (EXAMPLES / f"{name}.patch").read_text(encoding="utf-8"))
            for path in touched:
                if not path.startswith("test/"):
                    self.assertTrue(f"`{path}`" in section or f"`{os.path.dirname(path)}/`" in section, f"{name}: {path}")


if __name__ == "__main__":
    unittest.main()
