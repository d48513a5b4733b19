# SPDX-License-Identifier: BSD-3-Clause
"""lab shell and lab env: by hand in a node, with mpirun across all of them."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
import unittest

from lab_case import LAB_COMMAND, make_lab, run_lab


class ShellCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = make_lab(cls, nodes=2, rails=["none", "none"])

    def shell(self, *options, script, **settings):
        return run_lab("shell", self.lab.name, *options, input=script, env={**os.environ, "SHELL": "/bin/sh", **settings})


class Shell(ShellCase):
    def test_in_the_node(self):
        done = self.shell("n1", script="hostname; ls /sys/class/net | grep -c ^eth\nexit 7\n")
        self.assertEqual((done.stdout.split(), done.returncode), (["n1", "2"], 7), done.stderr)

    def test_the_users_own_shell(self):
        done = self.shell("1", script="", SHELL="/bin/hostname")
        self.assertEqual(done.stdout, "n1\n", done.stderr)

    def test_what_it_starts_goes_with_the_lab(self):
        done = self.shell("0", script="sleep 1000 >/dev/null 2>&1 & true\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.lab.pids(0, "sleep"))

    def test_on_a_terminal(self):
        """The shell is interactive, and ends the command when it ends."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([sys.executable, LAB_COMMAND, "shell", self.lab.name, "n0"], stdin=theirs, stdout=theirs, stderr=theirs,
                                   env={**os.environ, "SHELL": "/bin/sh", "PS1": "<prompt> "}, start_new_session=True)
        self.addCleanup(process.kill)
        os.close(theirs)
        os.write(ours, b"tty -s && echo terminal-of-$(hostname)\nexit 3\n")
        seen = b""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and select.select([ours], [], [], 30)[0]:
            try:
                seen += os.read(ours, 4096)
            except OSError:  # nobody has it open any more
                break
        os.close(ours)
        self.assertEqual(process.wait(30), 3, seen)
        self.assertIn(b"terminal-of-n0", seen)
        self.assertIn(b"<prompt>", seen)

    def test_mistakes(self):
        for words, status, text in ((("shell", self.lab.name, "n2"), 2, "node 'n2': 0 to 1 is allowed"),
                                    (("shell", "nowhere", "n0"), 1, "there is no lab named nowhere"),
                                    (("env", "nowhere"), 1, "there is no lab named nowhere"),
                                    (("shell", self.lab.name, "n0", "--", "hostname"), 2, "nothing is allowed after --")):
            done = run_lab(*words, stdin=subprocess.DEVNULL)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertIn(text, done.stderr)


@unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun here")
class Mpirun(ShellCase):
    def test_from_a_shell(self):
        """From another node than n0 too."""
        for node in ("n0", "n1"):
            done = self.shell(node, script="exec mpirun --host $LAB_HOSTS hostname\n")
            self.assertEqual((sorted(done.stdout.split()), done.returncode), (["n0", "n1"], 0), done.stderr)

    def test_from_a_script(self):
        text = f'eval "$({sys.executable} {LAB_COMMAND} env $1)" && exec {sys.executable} {LAB_COMMAND} exec $1 n0 -- mpirun --host $LAB_HOSTS hostname'
        done = subprocess.run(["sh", "-c", text, "sh", self.lab.name], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                              check=False)
        self.assertEqual((sorted(done.stdout.split()), done.returncode), (["n0", "n1"], 0), done.stderr)

    def test_options(self):
        text = run_lab("env", self.lab.name, "--incumbent-rails", "mgmt", "--no-nezha").stdout
        self.assertIn("export OMPI_MCA_btl_tcp_if_include=mgmt\n", text)
        self.assertIn("export OMPI_MCA_coll=^nezha\n", text.replace("'", ""))


if __name__ == "__main__":
    unittest.main()
