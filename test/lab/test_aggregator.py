# SPDX-License-Identifier: BSD-3-Clause
"""An aggregation service beside the rails of an emulated cluster: what it carries, and calls that go on with right sums
when it is killed, stands still, is cut off, or has another key."""

import os
import signal
import subprocess
import tempfile
import threading
import unittest

from bench_case import BUILD, program
from lab_case import eventually, make_lab
from nezha_lab.aggregator import Aggregator

SERVICE = os.path.join(BUILD, "nezha-aggregate")
RANKS = 3
NODE = RANKS
BYTES = 2 << 20
QUIET = {"OMPI_MCA_coll_nezha_learn": "0"}


class Calls:
    """A job that calls again and again and checks every result, until it is ended."""

    def __init__(self, lab, options):
        argv = [*options, program("nezha_fault_bench"), str(BYTES)]
        self._job = lab.popen(argv, np=RANKS, component_dir=os.path.join(BUILD, "component"), env=QUIET,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.made = 0
        self._errors = []
        self._threads = [threading.Thread(target=self._count), threading.Thread(target=self._read)]
        for thread in self._threads:
            thread.start()

    def _count(self):
        for line in self._job.stdout:
            self.made += line.startswith("{")

    def _read(self):
        self._errors.extend(self._job.stderr)

    @property
    def errors(self):
        return "".join(self._errors)

    def go_on(self, calls=5):
        wanted = self.made + calls
        return eventually(lambda: self.made >= wanted or self._job.poll() is not None, 60) and self._job.poll() is None

    def end(self):
        self._job.end()
        for thread in self._threads:
            thread.join()
        self._job.stdout.close()
        self._job.stderr.close()


def key_file(case, text):
    with tempfile.NamedTemporaryFile("w", delete=False) as file:  # mode 0600
        file.write(text * 32)
    case.addCleanup(os.unlink, file.name)
    return file.name


class BesideTheRails(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program("nezha_fault_bench")
        if not os.access(SERVICE, os.X_OK):
            raise unittest.SkipTest(f"{SERVICE} was not built")
        cls.lab = make_lab(cls, nodes=RANKS + 1, rails=["200mbit", "200mbit"],
                           node_rates={(NODE, 0): "600mbit", (NODE, 1): "600mbit"})

    def setUp(self):
        self.key = key_file(self, "k")
        self.service = Aggregator(self.lab, NODE, SERVICE, self.key)
        self.addCleanup(self.service.end)
        self.service.start()

    def calls(self, key=None, share=50):
        job = Calls(self.lab, self.service.parameters(key or self.key, share))
        self.addCleanup(job.end)
        return job

    def carried(self):
        return sum(self.lab.nic_bytes(NODE, rail).received for rail in range(2))

    def assert_used(self, job):
        """In two calls it gets half of three vectors at least once."""
        before = self.carried()
        self.assertTrue(eventually(lambda: self.carried() - before > 3 * BYTES or not job.go_on(1), 60))
        self.assertTrue(job.go_on(1), job.errors)
        self.assertGreater(self.carried() - before, 3 * BYTES)

    def assert_comes_and_goes(self, away, back):
        job = self.calls()
        self.assert_used(job)
        for _ in range(2):
            away()
            self.assertTrue(job.go_on(), job.errors)
            back()
            self.assert_used(job)
        self.assertNotIn("wrong", job.errors)

    def test_killed_and_started_again(self):
        self.assert_comes_and_goes(lambda: self.service.end(signal.SIGKILL), self.service.start)

    def test_stopped_and_continued(self):
        self.assert_comes_and_goes(lambda: self.service.send(signal.SIGSTOP), lambda: self.service.send(signal.SIGCONT))

    def test_cut_off_and_healed(self):
        def both(verb):
            for rail in range(2):
                verb(rail, NODE)
        self.assert_comes_and_goes(lambda: both(self.lab.cut), lambda: both(self.lab.heal))

    def test_one_link_is_enough(self):
        job = self.calls()
        self.assert_used(job)
        self.lab.cut(0, NODE)
        self.assert_used(job)
        self.lab.heal(0, NODE)

    def test_two_jobs(self):
        jobs = [self.calls(share=100), self.calls(share=30)]
        for job in jobs:
            self.assertTrue(job.go_on(20), job.errors)
        self.assert_used(jobs[0])

    def test_another_key(self):
        job = self.calls(key_file(self, "x"))
        self.assertTrue(job.go_on(20), job.errors)
        self.assertLess(self.carried(), BYTES)
        status, log = self.service.end()
        self.assertEqual(status, 0)
        self.assertIn("refused", log)


class Arguments(unittest.TestCase):
    def setUp(self):
        if not os.access(SERVICE, os.X_OK):
            self.skipTest(f"{SERVICE} was not built")

    def complaint(self, status, *arguments):
        done = subprocess.run([SERVICE, *arguments], capture_output=True, text=True, timeout=30, check=False,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def test_wrong_ones_are_named(self):
        key = key_file(self, "k")
        self.assertIn("--key is missing", self.complaint(2))
        self.assertIn("'node7'", self.complaint(2, "--key", key, "node7"))
        self.assertIn("--listen node7", self.complaint(2, "--key", key, "--listen", "node7"))
        self.assertIn("--memory 5", self.complaint(2, "--key", key, "--memory", "5"))
        self.assertIn("rails", self.complaint(2, "--key", key, "--set", "rails=eth0"))
        self.assertIn("usage:", self.complaint(0, "--help"))

    def test_a_key_must_be_secret_and_long(self):
        self.assertIn("/nonexistent", self.complaint(1, "--key", "/nonexistent"))
        key = key_file(self, "k")
        os.chmod(key, 0o604)
        self.assertIn("0604", self.complaint(1, "--key", key))
        os.chmod(key, 0o600)
        with open(key, "w", encoding="ascii") as file:
            file.write("short")
        self.assertIn("5 bytes", self.complaint(1, "--key", key))


if __name__ == "__main__":
    unittest.main()
