# SPDX-License-Identifier: BSD-3-Clause
"""An aggregation service beside the rails of an emulated cluster: what it carries, and calls that go on with the same bits
when it is killed, stands still or is cut off. Strangers and jobs with another key get nowhere."""

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

from bench_case import BUILD, program
from lab_case import HERE, eventually, make_lab
from nezha_lab.aggregator import Aggregator

SERVICE = os.path.join(BUILD, "nezha-aggregate")
RANKS = 3
NODE, OTHER_NODE = RANKS, RANKS + 1
BYTES = 2 << 20
SETTINGS = {"OMPI_MCA_coll_nezha_learn": "0", "OMPI_MCA_coll_nezha_verbose": "1", "OMPI_MCA_coll_nezha_reproducible": "1"}

# What somebody without the key may send to ports: nothing, words that are none, half a greeting.
STRANGER = textwrap.dedent("""
    import socket, sys, time
    open_ones = []
    for place in sys.argv[1:]:
        host, _, port = place.rpartition(":")
        for words in (b"", b"GET / HTTP/1.0\\r\\n\\r\\n", b"NEZAAGG1" + bytes(16) + b"\\x20\\x00", bytes(4096)):
            try:
                open_ones.append(socket.create_connection((host, int(port)), 5))
                open_ones[-1].sendall(words)
            except OSError:
                pass
    print(len(open_ones), flush=True)
    time.sleep(1)
    """)


class Calls:
    """A job that calls again and again, until it is ended. `bits`: {input: {hashes of its results}}; `arguments`: of bits.c"""

    def __init__(self, lab, options, arguments=(BYTES,), settings=None, ranks_per_node=1):
        self._job = lab.popen([*options, WithService.program, *arguments], np=RANKS * ranks_per_node, ppn=ranks_per_node,
                              component_dir=os.path.join(BUILD, "component"), env=SETTINGS if settings is None else settings,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.made = 0
        self.bits = {}
        self._errors = []
        self._threads = [threading.Thread(target=self._count), threading.Thread(target=self._read)]
        for thread in self._threads:
            thread.start()

    def _count(self):
        for line in self._job.stdout:
            call = re.fullmatch(r"(\d+) (\w{16})\n", line)
            if call:  # mpirun tells here of a rank that was killed
                self.bits.setdefault(call[1], set()).add(call[2])
                self.made += 1

    def _read(self):
        for line in self._job.stderr:
            self._errors.append(line)

    @property
    def errors(self):
        return "".join(self._errors)

    def joined(self):
        """How often it began to use the service."""
        return self.errors.count("reduces through")

    def left(self):
        """How many ranks have done without it from some call on, in all."""
        return self.errors.count("goes on without aggregator")

    def go_on(self, calls=5):
        wanted = self.made + calls
        return eventually(lambda: self.made >= wanted or self._job.poll() is not None, 60) and self._job.poll() is None

    def over(self):
        return self._job.poll() is not None

    def kill(self):
        for pid in self._job.pids(program="bits"):
            os.kill(pid, signal.SIGKILL)

    def end(self):
        self._job.end(0.1)
        for thread in self._threads:
            thread.join()
        self._job.stdout.close()
        self._job.stderr.close()


def key_file(case, text):
    with tempfile.NamedTemporaryFile("w", delete=False) as file:  # mode 0600
        file.write(text * 32)
    case.addCleanup(os.unlink, file.name)
    return file.name


class WithService(unittest.TestCase):
    size, share = BYTES, 50
    services = 2  # nodes for them
    ranks_per_node = 1
    more_arguments = ()  # of bits.c

    @classmethod
    def setUpClass(cls):
        program("nezha_fault_bench")  # or a skip: there is no MPI here
        if not os.access(SERVICE, os.X_OK):
            raise unittest.SkipTest(f"{SERVICE} was not built")
        directory = tempfile.mkdtemp(prefix="nezha-lab-bits-")
        cls.addClassCleanup(shutil.rmtree, directory)
        WithService.program = os.path.join(directory, "bits")
        subprocess.run(["mpicc", "-O2", os.path.join(HERE, "bits.c"), "-o", cls.program], check=True)
        cls.lab = make_lab(cls, nodes=RANKS + cls.services, rails=["200mbit", "200mbit"],
                           node_rates={(RANKS + node, rail): "600mbit" for node in range(cls.services) for rail in range(2)})
        rails_alone = Calls(cls.lab, [], (cls.size, *cls.more_arguments), ranks_per_node=cls.ranks_per_node)
        cls.expected = rails_alone.bits if rails_alone.go_on(6) else None
        rails_alone.end()

    def setUp(self):
        self.assertEqual([len(hashes) for hashes in self.expected.values()], [1, 1, 1])
        self.key = key_file(self, "k")
        self.service = Aggregator(self.lab, NODE, SERVICE, self.key, ["--verbose", "2"])
        self.enterContext(self.service)

    def calls(self, key=None, share=None, others=()):
        job = Calls(self.lab, self.service.parameters(key or self.key, share or self.share, others), (self.size,),
                    ranks_per_node=self.ranks_per_node)
        self.addCleanup(job.end)
        return job

    def carried(self, node=NODE):
        return sum(self.lab.nic_bytes(node, rail).received for rail in range(2))

    def assert_used(self, job, node=NODE):
        """It gets much: half of three large vectors in two calls, or a hundred small ones."""
        before, much = self.carried(node), 3 * self.size if self.size == BYTES else 100 * RANKS * self.size
        self.assertTrue(eventually(lambda: self.carried(node) - before > much or not job.go_on(1), 60))
        self.assertTrue(job.go_on(1), job.errors)
        self.assertGreater(self.carried(node) - before, much)

    def assert_right(self, *jobs):
        for job in jobs:
            self.assertEqual(job.bits, self.expected, job.errors)

    def assert_comes_and_goes(self, away, back):
        job = self.calls()
        self.assert_used(job)
        for times in (2, 3):
            left = job.left()
            away()
            self.assertTrue(eventually(lambda: job.left() > left or not job.go_on(1), 60), job.errors)
            self.assertTrue(job.go_on(), job.errors)
            back()
            self.assert_used(job)
            self.assertTrue(eventually(lambda: job.joined() >= times or not job.go_on(1), 60), job.errors)  # it is told by another way
            self.assertGreaterEqual(job.joined(), times, job.errors)
        self.assert_right(job)

    def both_links(self, verb):
        for rail in range(2):
            verb(rail, NODE)


class Misfortunes:
    """Of the service, whatever goes through it."""

    def test_killed_and_started_again(self):
        self.assert_comes_and_goes(lambda: self.service.end(signal.SIGKILL), self.service.start)

    def test_stopped_and_continued(self):
        self.assert_comes_and_goes(lambda: self.service.send(signal.SIGSTOP), lambda: self.service.send(signal.SIGCONT))

    def test_cut_off_and_healed(self):
        self.assert_comes_and_goes(lambda: self.both_links(self.lab.cut), lambda: self.both_links(self.lab.heal))

    def test_links_that_fall_silent(self):
        self.addCleanup(self.both_links, self.lab.speak)
        self.assert_comes_and_goes(lambda: self.both_links(self.lab.silence), lambda: self.both_links(self.lab.speak))

    def test_started_again_at_once(self):
        job = self.calls()
        self.assert_used(job)
        for times in (2, 3):
            self.service.end(signal.SIGKILL)
            self.service.start()
            self.assertTrue(eventually(lambda: job.joined() >= times or not job.go_on(1), 60), job.errors)
            self.assert_used(job)
        self.assert_right(job)


class BesideTheRails(Misfortunes, WithService):
    def test_one_link_is_enough(self):
        job = self.calls()
        self.assert_used(job)
        self.lab.cut(0, NODE)
        self.addCleanup(self.lab.heal, 0, NODE)
        self.assert_used(job)
        self.assertGreaterEqual(job.joined(), 1, job.errors)
        self.assert_right(job)

    def test_two_jobs(self):
        """At the same time; one that is killed takes nothing from the other."""
        jobs = [self.calls(share=100), self.calls(share=30)]
        for job in jobs:
            self.assertTrue(eventually(lambda: job.joined() or not job.go_on(1), 60))
            self.assertTrue(job.go_on(), job.errors)
        self.assertTrue(all(job.joined() for job in jobs))
        self.assert_right(*jobs)
        jobs[0].kill()
        self.assertTrue(eventually(lambda: self.service.log().count("has gone: ") >= RANKS, 30), self.service.log())
        self.assert_used(jobs[1])
        self.assertGreaterEqual(jobs[1].joined(), 1, jobs[1].errors)
        self.assert_right(jobs[1])
        jobs[1].end()
        self.assertTrue(eventually(lambda: self.service.log().count("has gone: ") >= 2 * RANKS, 30), self.service.log())
        self.assertEqual(self.service.end(), 0)

    def test_two_services_share_vectors(self):
        """One that is killed in a call leaves its part to the rails; the other goes on, and is joined but once."""
        other = Aggregator(self.lab, OTHER_NODE, SERVICE, self.key, ["--verbose", "2"])
        self.enterContext(other)
        job = self.calls(share=80, others=[other])
        for times in (2, 3):
            self.assertTrue(eventually(lambda: job.joined() >= times or not job.go_on(1), 60), job.errors)
            for node in (NODE, OTHER_NODE):
                self.assert_used(job, node)
            other.end(signal.SIGKILL)
            self.assertTrue(eventually(lambda: job.errors.count(f"without aggregator {other.place}") >= times - 1, 60), job.errors)
            self.assert_used(job)
            other.start()
        self.assertTrue(eventually(lambda: job.joined() >= 4 or not job.go_on(1), 60), job.errors)
        self.assertNotIn(f"without aggregator {self.service.place}", job.errors)
        self.assert_right(job)

    def test_another_key(self):
        job = self.calls(key_file(self, "x"))
        self.assertTrue(eventually(lambda: "another key" in job.errors or not job.go_on(1), 60), job.errors)
        self.assertTrue(job.go_on(), job.errors)
        self.assertLess(self.carried(), BYTES)
        self.assertEqual(job.joined(), 0)
        self.assert_right(job)
        self.assertIn("refused", self.service.log())
        self.assertNotIn("has come", self.service.log())

    def test_strangers(self):
        """At the port for greetings and at those of its lanes, while a job uses it."""
        job = self.calls()
        self.assert_used(job)
        listening = self.lab.exec(NODE, ["ss", "-Hltn"], check=True, capture_output=True, text=True).stdout
        places = sorted({"".join(place) for place in re.findall(r"\b(10\.\d+\.\d+\.\d+)(?:%\w+)?(:\d+)\s", listening)})
        self.assertIn(self.service.place, places)
        self.assertGreaterEqual(len(places), 3)
        done = self.lab.exec(0, [sys.executable, "-c", STRANGER, *places], check=True, capture_output=True, text=True)
        self.assertEqual(int(done.stdout), 4 * len(places))
        self.assertIn("does not speak this protocol", self.service.log())
        self.assert_used(job)
        self.assertGreaterEqual(job.joined(), 1, job.errors)
        self.assert_right(job)
        log = self.service.log()
        self.assertEqual(log.count("has come"), len(re.findall(r"rank \d on n\d has come", log)))


class SmallCalls(Misfortunes, WithService):
    """Vectors that go whole through the service."""

    size, share = 1000, 100

    def test_calls_on_their_own_find_the_service(self):
        """They try it, whatever comes of that."""
        job = self.calls(share="auto")
        self.assertTrue(eventually(lambda: job.joined() or not job.go_on(1), 60), job.errors)
        self.assertTrue(eventually(lambda: "calls of 1000 bytes: " in job.errors or not job.go_on(1), 60), job.errors)
        self.service.end(signal.SIGKILL)
        self.assertTrue(job.go_on(), job.errors)
        self.assert_right(job)


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
        for upstream in ("node7", "node7:", "node7:1,node8:1"):
            self.assertIn(f"--upstream {upstream}: HOST:PORT", self.complaint(2, "--key", key, "--upstream", upstream))
        self.assertIn("rails", self.complaint(2, "--key", key, "--set", "rails=eth0"))
        for unused in ("aggregators=node7:1", "timeout=5", "rail_include=eth0"):
            said = self.complaint(2, "--key", key, "--set", unused)
            self.assertIn(f"--set {unused}: allowed names are rail_exclude, port_range", said)
        self.assertIn("--key: a path has", self.complaint(2, "--key", "k" * 5000))
        self.assertIn("usage:", self.complaint(0, "--help"))

    def config_file(self, text):
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write(text)
        self.addCleanup(os.unlink, file.name)
        return file.name

    def test_wrong_lines_of_a_file_are_named(self):
        key = key_file(self, "k")
        for text, wrong in (("# sizes\n\nmemory\t2m \njob-memory 5\n", ":4: job-memory 5"), ("memory\n", ":1: memory"),
                            ("colour red\n", ":1: colour red: no such option; there are key, listen"), ("set rails=eth0\n", ":1: set"),
                            ("\nkey a\x01b\n", ":2: key: a path has")):
            file = self.config_file(text)
            self.assertIn(file + wrong, self.complaint(2, "--key", key, "--config", file))
        self.assertIn("--config /nonexistent", self.complaint(2, "--key", key, "--config", "/nonexistent"))
        self.assertIn("--config b: one file is allowed", self.complaint(2, "--key", key, "--config", "a", "--config", "b"))

    def test_systemd_is_told_when_it_serves(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        for name in (os.path.join(directory, "notify"), f"\0nezha-{os.getpid()}"):
            with self.subTest(name), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
                told.bind(name)
                told.settimeout(30)
                with subprocess.Popen([SERVICE, "--key", key_file(self, "k"), "--listen", "0", "--set", "single_node=2"],
                                      stdout=subprocess.DEVNULL, env={**os.environ, "NOTIFY_SOCKET": name.replace("\0", "@")}) as service:
                    self.addCleanup(service.kill)
                    self.assertEqual(told.recv(100), b"READY=1")
                    service.terminate()

    def test_reload(self):
        """By SIGHUP it reads all anew; if something is wrong it says so and serves on."""
        key = key_file(self, "k")
        file = self.config_file(f"key {key}\nmemory 2m\n")
        with subprocess.Popen([SERVICE, "--config", file, "--listen", "0", "--set", "single_node=2"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as service:
            self.addCleanup(service.kill)
            self.assertIn("ready", service.stdout.readline())

            def said():
                service.send_signal(signal.SIGHUP)
                return service.stderr.readline()

            self.assertIn("read anew", said())
            os.chmod(key, 0o644)
            self.assertRegex(said(), "reload: .*0644.*old key")
            os.chmod(key, 0o600)
            with open(file, "a", encoding="ascii") as config:
                config.write("memory lots\n")
            self.assertIn(f"{file}:3: memory lots", said())
            service.terminate()
            self.assertEqual(service.wait(30), 0)

    def test_descriptors(self):
        """A shell allows less than it may have."""
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        with subprocess.Popen([SERVICE, "--key", key_file(self, "k"), "--listen", "0", "--set", "single_node=2"], text=True,
                              stdout=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))) as service:
            self.addCleanup(service.kill)
            self.assertIn("ready", service.stdout.readline())
            found = resource.prlimit(service.pid, resource.RLIMIT_NOFILE)
            service.terminate()
        self.assertEqual(found, (hard, hard))

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
