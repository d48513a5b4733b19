#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""contrib/component-path in files of parameters of all kinds: what it adds it takes away, and nothing else."""

import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = pathlib.Path(__file__).resolve().parents[2] / "contrib" / "component-path"
LINE = "opal_mca_base_component_path = SYS_DEFAULT:USER_DEFAULT"


class ComponentPath(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.file = pathlib.Path(place.name) / "openmpi" / "mca-params.conf"

    def run_it(self, *words):
        return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)

    def must(self, what):
        done = self.run_it(what, str(self.file))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        return done.stderr

    def write(self, text):
        self.file.parent.mkdir()
        self.file.write_text(text, encoding="utf-8")

    def read(self):
        return self.file.read_text(encoding="utf-8")

    def test_no_file(self):
        self.must("remove")
        self.must("add")
        self.assertEqual(self.read().splitlines()[-1], LINE)
        self.must("remove")
        self.assertFalse(self.file.exists())

    def test_once(self):
        self.must("add")
        self.must("add")
        self.assertEqual(self.read().count(LINE), 1)

    def test_a_file_of_the_users(self):
        text = "btl = tcp,self\n\n# mine\ncoll_nezha_verbose = 1\n"
        self.write(text)
        self.must("add")
        self.assertTrue(self.read().startswith(text))
        self.assertIn(LINE, self.read().splitlines())
        self.must("remove")
        self.assertEqual(self.read(), text)

    def test_a_last_line_without_an_end(self):
        self.write("btl = tcp,self")
        self.must("add")
        self.assertEqual((self.read().splitlines()[0], self.read().splitlines()[-1]), ("btl = tcp,self", LINE))
        self.must("remove")
        self.assertEqual(self.read(), "btl = tcp,self\n")

    def test_a_path_of_the_users(self):
        text = "opal_mca_base_component_path = /mine\n"
        self.write(text)
        self.assertIn("left as it is", self.must("add"))
        self.assertEqual(self.read(), text)

    def test_a_place_that_cannot_be_written(self):
        """Root may write everywhere, but not below a file."""
        self.file.parent.write_text("in the way\n", encoding="utf-8")
        self.assertIn(f"{self.file} could not be written. Jobs find the component with mpirun's option "
                      f"--mca {LINE.replace(' = ', ' ')}\n", self.must("add"))
        self.must("remove")

    def test_a_file_without_the_line_is_not_written(self):
        """As of another user, where add could not write it either."""
        self.write("btl = tcp,self\n")
        os.utime(self.file, ns=(0, 0))
        self.must("remove")
        self.assertEqual(self.file.stat().st_mtime_ns, 0)

    def test_usage(self):
        for words in ((), ("add",), ("put", "here")):
            done = self.run_it(*words)
            self.assertEqual((done.returncode, done.stderr), (2, "usage: component-path add|remove FILE\n"))


if __name__ == "__main__":
    unittest.main()
