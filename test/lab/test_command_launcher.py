# SPDX-License-Identifier: BSD-3-Clause
"""What nezha starts on the nodes by a launcher: how that ends when the launcher does not."""

import argparse
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from lab_case import PYTHON_DIR, eventually, heed_ctrl_c, script
from test_doctor_checks import facts

from nezha_bench import launch as bench_launch
from nezha_command import cluster, doctor, fleet, launch
from nezha_command.errors import CommandError
from nezha_lab import processes

# As mpirun's ssh: a process group of its own, our standard output open, deaf to everything but SIGKILL.
_DEAF = """import os, signal, sys, time
if os.fork() == 0:
    os.setpgid(0, 0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()}\\n")
time.sleep(700)
"""
_ASKING = """import argparse, sys
sys.path.insert(0, sys.argv[1])
from nezha_command import fleet
from nezha_lab.leaving import leave_on_signals
leave_on_signals()
fleet.ask(argparse.Namespace(launcher=sys.argv[2]), ["rails"])
"""


class Launcher(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.pids_file = os.path.join(self.place, "pids")
        self.addCleanup(lambda: [processes.send(pid, signal.SIGKILL) for pid in self.pids()])

    def pids(self):
        if not os.path.exists(self.pids_file):
            return []
        with open(self.pids_file, encoding="ascii") as file:
            return [int(line) for line in file if line.endswith("\n")]

    def left(self):
        return [pid for pid in self.pids() if processes.start_time(pid) is not None]

    def deaf(self):
        """A launcher of two processes that do not answer and do not end."""
        return script(self.place, "launcher", f"exec {sys.executable} -c '{_DEAF}' {self.pids_file}")

    def ask(self, launcher, size=1, **options):
        """The program that it starts answers as one of a job of `size`; on the node that $NODE names."""
        program = ("import os; from nezha_command import letters; "
                   f"letters.send(os.environ.get(\"NODE\", \"n0\"), 0, {{\"here\": 1, \"all\": {size}, \"answer\": {{}}}})")
        command = script(self.place, "nezha", f"PYTHONPATH={PYTHON_DIR} exec {sys.executable} -c '{program}'")
        with mock.patch.multiple(launch, COMMAND=command):
            return fleet.ask(argparse.Namespace(launcher=launcher), ["rails"], **options)

    def test_one_that_hangs_is_ended_once_with_all_that_it_started(self):
        with mock.patch("nezha_command.session._ASKED", 0.2), \
                self.assertRaisesRegex(CommandError, "no node has answered: the launcher did not end within 1 s"):
            self.ask(self.deaf(), seconds=1)
        self.assertEqual((len(self.pids()), self.left()), (2, []))

    def test_what_it_leaves_behind_does_not_keep_us(self):
        launcher = script(self.place, "launcher", f"sleep 700 & echo $! >{self.pids_file}; \"$@\"")
        with mock.patch("nezha_command.session._REST", 0.2):
            answers = self.ask(launcher, seconds=100)
        self.assertEqual((answers, self.left()), (({"n0": {}}, "", False), []))

    def test_one_that_does_not_tell_how_many_it_starts(self):
        """It is waited for until it ends, and what it says counts even if it ends well."""
        launcher = script(self.place, "launcher", "\"$@\"; NODE=n1 \"$@\"; echo n2 does not answer >&2")
        answers = self.ask(launcher, size=0)
        self.assertEqual(answers, ({"n0": {}, "n1": {}}, "n2 does not answer", False))
        self.assertEqual(self.ask(script(self.place, "launcher", "echo welcome >&2; \"$@\""), size=1), ({"n0": {}}, "", False))
        self.assertTrue(self.ask(script(self.place, "launcher", "\"$@\""), size=2).lacking)

    def test_the_doctor_goes_on_whatever_a_launcher_says(self):
        """Unless processes are lacking."""
        options = argparse.Namespace(launcher="pdsh", hostfile=None, host=None, mpirun=[], port=None)
        answers = {node: facts(number) for number, node in enumerate(("n0", "n1"))}
        for lacking, asked in ((False, ["facts", "probe"]), (True, ["facts"])):
            with mock.patch.object(fleet, "ask", side_effect=[(answers, "welcome", lacking), ({}, "welcome", False)]) as asking, \
                    contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(doctor.examine(options)[1], "welcome")
            self.assertEqual([call.args[1][0] for call in asking.call_args_list], asked)

    def test_the_doctor_tells_of_the_nodes_where_none_answers_the_probe(self):
        options = argparse.Namespace(launcher="pdsh", hostfile=None, host=None, mpirun=[], port=None)
        answers = {node: facts(number) for number, node in enumerate(("n0", "n1"))}
        with mock.patch.object(fleet, "ask", side_effect=[(answers, "", False), CommandError("no node has answered: killed")]), \
                contextlib.redirect_stderr(io.StringIO()):
            found, complaint = doctor.examine(options)
        self.assertEqual((found.facts, complaint), (answers, "the lanes were not tried: no node has answered: killed"))

    def test_a_job_of_the_bench(self):
        """Its output is read to the end, which what mpirun has started may hold back."""
        with mock.patch.dict(os.environ, PATH=f"{self.place}:{os.environ['PATH']}"):
            os.rename(self.deaf(), os.path.join(self.place, "mpirun"))
            with mock.patch("nezha_command.session._ASKED", 0.2):
                done = bench_launch.follow(cluster.Cluster([]), [], {}, 1, lambda line: None)
        self.assertEqual((done.expired, len(self.pids())), (True, 2))
        self.assertTrue(eventually(lambda: not self.left()))

    def test_two_interruptions(self):
        """The second one comes while the launcher is asked to end."""
        asking = subprocess.Popen([sys.executable, "-c", _ASKING, PYTHON_DIR, self.deaf()], stderr=subprocess.DEVNULL,
                                  preexec_fn=heed_ctrl_c)
        self.addCleanup(asking.kill)
        self.assertTrue(eventually(lambda: len(self.pids()) == 2, 60))
        asking.send_signal(signal.SIGINT)
        self.assertRaises(subprocess.TimeoutExpired, asking.wait, 0.5)
        asking.send_signal(signal.SIGINT)
        asking.wait(60)
        self.assertTrue(eventually(lambda: not self.left()))


if __name__ == "__main__":
    unittest.main()
