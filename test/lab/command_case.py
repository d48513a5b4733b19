# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the installed command share: where it is, and how it is run here and in a lab's node."""

import contextlib
import json
import os
import subprocess
import tempfile
import unittest
from unittest import mock

from bench_case import BUILD, TOP
from lab_case import PYTHON_DIR  # noqa: F401 (its import makes nezha_lab and nezha_command importable)

COMMAND = os.path.join(BUILD, "install", "bin", "nezha")
COMPONENT = os.environ.get("NEZHA_COMPONENT_DIR") or os.path.join(BUILD, "component")
MANUAL = os.path.join(TOP, "contrib", "man", "nezha.1")


def plain(text):
    """Words in order, whatever they are wrapped in."""
    return " ".join(text.split())


@contextlib.contextmanager
def kept_in(directory):
    """What cannot be written where it should goes to a folder in `directory`: a function that gives the text of the one file there."""
    with tempfile.TemporaryDirectory(dir=directory) as place, mock.patch("tempfile.tempdir", place), \
            mock.patch("nezha_bench.files._elsewhere", {}):
        def text():
            (name,) = os.listdir(place)
            with open(os.path.join(place, name), encoding="utf-8") as file:
                return file.read()
        yield text


class CommandCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.access(COMMAND, os.X_OK):
            raise unittest.SkipTest(f"{COMMAND} is not there: contrib/build installs it")

    def nezha(self, *arguments, status=0, **options):
        """Runs the command on this host; its standard output. `status`: None allows any."""
        done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              stdin=subprocess.DEVNULL, **options)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout[-2000:] + done.stderr[-2000:])
        return done.stdout

    def nezha_in(self, lab, *arguments, status=0, env=None, component=COMPONENT):
        """Runs it in node n0, with what mpirun needs there, and no interface named but in `arguments` or `env`. `status`: None
        allows any."""
        settings = lab.mpi_environment(component_dir=component)
        del settings["OMPI_MCA_coll_nezha_rail_include"], settings["OMPI_MCA_btl_tcp_if_include"]
        done = lab.exec(0, [COMMAND, *arguments], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                        env={**settings, **(env or {})})
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout[-3000:] + done.stderr[-2000:])
        return done.stdout

    def json_in(self, lab, *arguments, **options):
        return json.loads(self.nezha_in(lab, *arguments, "--json", **options))
