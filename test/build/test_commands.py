#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the commands of contrib say on a machine on which nothing is installed yet."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CONTRIB = pathlib.Path(__file__).resolve().parents[2] / "contrib"

# Without Python's "site" there is no package of the distribution: none of rich, matplotlib and numpy.
BARE = [sys.executable, "-S"]


def run(*argv, **env):
    return subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False)


class Bare(unittest.TestCase):
    def helps(self, done, *words):
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in words:
            self.assertIn(word, done.stdout)

    def test_the_packages_are_not_there(self):
        self.assertIn("No module named 'rich'", run(*BARE, "-c", "import rich").stderr)

    def test_help(self):
        module = ("-m", "nezha_bench.demo", "--build", "build", "--help")
        self.helps(run(*BARE, *module, PYTHONPATH=str(CONTRIB / "python")), "--picture FILE")
        self.helps(run(*BARE, str(CONTRIB / "bench"), "--help"), "--sizes LIST", "--osu PATH")
        self.helps(run(*BARE, str(CONTRIB / "lab"), "--help"), "lab with --nodes 4")
        self.helps(run(*BARE, str(CONTRIB / "faults"), "--help"), "three-of-four", "--soak-seconds S")

    def test_bench_says_what_is_missing(self):
        done = run(*BARE, str(CONTRIB / "bench"), "--quick")
        self.assertEqual((done.returncode, done.stdout), (77, ""))
        self.assertEqual(done.stderr, "bench: Python's module rich is missing: contrib/install-packages demo\n")

    def test_shell_commands(self):
        self.helps(run(str(CONTRIB / "demo"), "--help"), "--picture FILE")
        self.helps(run(str(CONTRIB / "check"), "--help"), "--only PART")
        self.helps(run(str(CONTRIB / "build"), "--help"), "contrib/build [DIR [configure's options and variables]]")
        self.assertEqual(run(str(CONTRIB / "build"), "--prefix=/usr").returncode, 2)

    def test_build_finds_what_was_installed_since(self):
        """Headers that configure looks for and need not be there: with them it is run once more."""
        with tempfile.TemporaryDirectory() as top:
            def write(name, does):
                path = pathlib.Path(top, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
                path.chmod(0o755)

            write("configure", f"touch Makefile; echo run >> {top}/runs")
            write("tools/make", "exit 0")
            write("tools/pkg-config", f'grep -qsx "$2" {top}/there')
            shutil.copy(CONTRIB / "build", pathlib.Path(top, "tools", "build"))
            for library in (None, None, "libfabric", "libibverbs", "gtest_main"):
                if library:
                    with open(os.path.join(top, "there"), "a", encoding="utf-8") as file:
                        file.write(f"{library}\n")
                done = run(os.path.join(top, "tools", "build"), os.path.join(top, "out"), PATH=f"{top}/tools:{os.environ['PATH']}")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(pathlib.Path(top, "runs").read_text(encoding="utf-8"), "run\n" * 4)

    def test_install_packages_waits_for_others(self):
        """A new machine's own updates hold apt's locks."""
        with tempfile.TemporaryDirectory() as tools:
            for name, does in (("id", "echo 0"), ("dpkg-query", "exit 1"), ("apt-get", f'echo "$@" >> {tools}/calls')):
                tool = pathlib.Path(tools, name)
                tool.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
                tool.chmod(0o755)
            done = run(str(CONTRIB / "install-packages"), "debians", PATH=f"{tools}:{os.environ['PATH']}")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            calls = pathlib.Path(tools, "calls").read_text(encoding="utf-8").splitlines()
        self.assertEqual([call.split()[3] for call in calls], ["update", "install"])
        for call in calls:
            self.assertIn("-o DPkg::Lock::Timeout=600", call)


if __name__ == "__main__":
    unittest.main()
