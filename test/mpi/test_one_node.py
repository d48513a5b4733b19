#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
"""Ranks of one node, which add up in the memory that they share: results, what the report and the counters say, what happens
without a network, and errors that name a rank that dies or stops."""

import ctypes
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest

from mpi_case import SAME_ORDER, MpiCase, environment, mpirun, plain, program
from nezha_command import trace_file
from nezha_lab import openmpi

HERE = {"coll_nezha_learn": "0"}
ROOTS = {"coll_nezha_collectives": "bcast,reduce"}
NO_NETWORK = {**HERE, "coll_nezha_rail_include": "no-such-interface"}
COUNTS_MEMORY = {"NEZHA_COUNTS_MEMORY": "1"}
STAGES = ("memory_copying_in", "memory_reducing", "memory_sharing")
_LONGEST = 60  # seconds that a job may take to say what a test waits for


class OneNode(MpiCase):
    def counted(self, np, params, *arguments):
        done = self.passes("counters", np, *(arguments or ("100", "10")), params=params, env=COUNTS_MEMORY)
        return done, self.counters(done)

    def test_memory_carries(self):
        for np in (2, 3, 5):
            with self.subTest(np):
                _, values = self.counted(np, HERE)
                self.assertGreater(values["memory_calls"][0], 50)
                self.assertGreater(values["memory_bytes"][0], 0)
                for stage in STAGES:
                    self.assertGreater(values[stage][0], 0, stage)
                self.assertEqual((values["calls"], values["memory_between"]), ([0], [0]))
                self.assertEqual(sum(values["rail_bytes_sent"]), 0)

    def test_without_a_network(self):
        """And without a text that says so: nobody would have used one."""
        done, values = self.counted(3, NO_NETWORK)
        self.assertGreater(values["memory_calls"][0], 50)
        self.assertNotIn("finds no network", plain(done.stderr))

    def test_with_learning(self):
        done, values = self.counted(2, {"coll_nezha_verbose": "1"}, "2000", "10")
        self.assertGreater(values["memory_calls"][0], 0)
        self.assertRegex(done.stderr, r"from \w+ bytes: (memory|incumbent), .*incumbent \d+ us")

    def test_every_operation(self):
        self.passes("every_operation", 3, params=HERE, env=COUNTS_MEMORY)

    def test_communicators(self):
        self.passes("communicators", 4, params=HERE, env=COUNTS_MEMORY)

    def test_threads(self):
        self.passes("threads", 2, params=HERE, env=COUNTS_MEMORY)

    def test_nonblocking(self):
        for np in (2, 4):
            with self.subTest(np):
                done = self.passes("nonblocking", np, params={**HERE, **SAME_ORDER}, env=COUNTS_MEMORY)
                self.assertNotIn("no persistent", done.stdout)

    def test_roots(self):
        """Broadcasts and reductions, each by the memory."""
        for np in (2, 4):
            with self.subTest(np):
                self.passes("siblings", np, "roots", params={**HERE, **ROOTS}, env=COUNTS_MEMORY)

    def test_blocks(self):
        """The same of reduce_scatters and allgathers of blocks of one size."""
        for np in (2, 3):
            with self.subTest(np):
                self.passes("siblings", np, "blocks", params={**HERE, "coll_nezha_collectives": "all"}, env=COUNTS_MEMORY)

    def test_large_ones_unnamed(self):
        """Broadcasts, reductions and allgathers go through the memory from 16 KiB on."""
        for count, carried in (("4000", "30"), ("300", "0")):
            with self.subTest(count):
                self.passes("siblings", 3, "carried", carried, count, params=HERE, env=COUNTS_MEMORY)
        self.passes("siblings", 3, "carried", "0", "4000", params={**HERE, "coll_nezha_algorithm": "ring"}, env=COUNTS_MEMORY)

    def test_roots_with_learning(self):
        log = self.passes("siblings", 2, "4", params={"coll_nezha_collectives": "all", "coll_nezha_verbose": "1"}, env=COUNTS_MEMORY).stderr
        for name in ("bcast", "reduce"):
            self.assertRegex(log, rf"{name} from \w+ bytes: (memory|incumbent), .*incumbent \d+ us")

    def test_off(self):
        _, values = self.counted(2, {**HERE, "coll_nezha_shared_memory": "0"}, "50", "1")
        self.assertEqual(values["memory_calls"] or [0], [0])

    def test_rank_0_decides(self):
        wrapper = self.wrapper('[ "${PMIX_RANK:-$OMPI_COMM_WORLD_RANK}" != 1 ] || export OMPI_MCA_coll_nezha_shared_memory=0')
        done = mpirun([wrapper, program("counters"), "50", "1"], 3, params=HERE, env=COUNTS_MEMORY)
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
        self.assertEqual(self.counters(done)["memory_calls"], [0])

    def test_report(self):
        done = self.says("Nezha's report", lambda: self.passes(
            "counters", 3, "100", "10", params={**HERE, "coll_nezha_report": "1"}, env=COUNTS_MEMORY))
        self.assertIn("Rails carried no call: all ranks are on one node, whose memory they share", done.stderr)
        row = re.search(r"memory of the node .*copy in s.*\n +rank 0 +(\d+) +[\d.]+ +([\d.]+)", done.stderr)
        self.assertTrue(row, done.stderr)
        self.assertGreater(int(row[1]), 50)

    def test_report_of_a_nic_of_two_rails(self):
        nic = next((link.parts[-2] for link in sorted(pathlib.Path("/sys/class/net").glob("*/device"))
                    if "/pci" in str(link.resolve()) and (link.parent / "operstate").read_text(encoding="ascii").strip() == "up"), None)
        try:
            ctypes.CDLL("libfabric.so.1")
        except OSError as reason:
            self.skipTest(str(reason))
        if nic is None:
            self.skipTest("no NIC of this machine is part of a PCIe device")
        rails = {"coll_nezha_rail_include": f"tcp/{nic},ofi/{nic}"}
        done = self.says("Nezha's report", lambda: self.passes(
            "counters", 2, "100", "10", params={**HERE, **rails, "coll_nezha_report": "1"}, env=COUNTS_MEMORY))
        if not all(re.search(rf"(?m)^  {kind}/(\S+:)?{nic} ", done.stderr) for kind in ("tcp", "ofi")):
            self.skipTest(f"{nic} is no rail of both kinds here")
        self.assertRegex(done.stderr, rf"share PCIe device [\da-f:]+: tcp/{nic}, ofi/\S+:{nic}\n")

    def test_trace(self):
        """Its end has what the counters had."""
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "job.trace")
            _, values = self.counted(2, {**HERE, "coll_nezha_trace": path})
            memory = trace_file.read(path).memory
        self.assertGreaterEqual(memory.calls, values["memory_calls"][0])
        for stage in (memory.copied_in_us, memory.reduced_us, memory.shared_us):
            self.assertGreater(stage, 0)
        self.assertEqual(memory.between_us, 0)

    def test_few_descriptors(self):
        """Where the memory's connections do not fit, the job ends as without the component."""
        declined = False
        for limit in (24, 28, 32, 64, 80, 90):
            with self.subTest(limit=limit):
                command = [self.wrapper(f"ulimit -n {limit}"), program("counters"), "4", "1"]
                done = mpirun(command, 4, params=HERE, timeout=_LONGEST)
                if done.returncode != 0 and mpirun(command, 4, component=False, timeout=_LONGEST).returncode != 0:
                    continue
                self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
                declined = declined or self.counters(done)["memory_calls"] in ([0], [])
        self.assertTrue(declined)


class Errors(MpiCase):
    """A rank of three dies or stops in the middle of calls: the others get an error that names it."""

    def fails(self, fault, victim, size="", *before):
        env = {**environment({**HERE, **ROOTS, "coll_nezha_timeout": "2", "coll_nezha_verbose": "1"}, True), **COUNTS_MEMORY}
        say_pid = self.wrapper('echo "pid $$ of rank ${PMIX_RANK:-$OMPI_COMM_WORLD_RANK}"')
        job = subprocess.Popen(["mpirun", "-np", "3", *before, say_pid, program("until_error"), *size.split()], env=env, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        timer = threading.Timer(_LONGEST, job.kill)
        timer.start()
        lines, pids = [], {}
        try:
            ready = errors = 0
            while errors < 2:
                line = job.stdout.readline()
                self.assertTrue(line, f"it ended, or {_LONGEST} s passed:\n" + "".join(lines[-30:]))
                lines.append(line)
                if found := re.match(r"pid (\d+) of rank (\d)", line):
                    pids[int(found[2])] = int(found[1])
                errors += "an error after" in line
                if "calls go over rails" in line:
                    ready += 1
                    if ready == 3:
                        os.kill(pids[victim], fault)
            said = [line for line in lines if "an error after" in line]
            self.assertTrue(all("as it should be" in line for line in said), "".join(lines[-30:]))
            named = [bool(re.search(f"has failed: .*rank {victim} on", line)) for line in lines if "has failed:" in line]
            # Where Open MPI tells one rank of the death that one tells the others that it gives up.
            self.assertTrue(any(named) if before and openmpi.major() >= 5 else named and all(named), "".join(lines[-30:]))
            return " ".join("".join(lines).split())
        finally:
            timer.cancel()
            if victim in pids:
                try:
                    os.kill(pids[victim], signal.SIGKILL)
                except ProcessLookupError:
                    pass
            job.terminate()
            job.wait(timeout=30)
            job.stdout.close()

    def test_stopped(self):
        for victim in (0, 2):
            with self.subTest(victim):
                self.assertRegex(self.fails(signal.SIGSTOP, victim),
                                 f"no sign of life from rank {victim} on .* in the memory of its node for coll_nezha_timeout = 2 s")

    def test_killed(self):
        for victim in (0, 1):
            with self.subTest(victim):
                self.fails(signal.SIGKILL, victim, "", *openmpi.outlives_ranks())

    def test_roots_end(self):
        """Whether the rank was to give something or to get it."""
        with self.subTest("stopped"):
            self.fails(signal.SIGSTOP, 1, "roots")
        with self.subTest("killed"):
            self.fails(signal.SIGKILL, 2, "roots", *openmpi.outlives_ranks())

    def test_requests_end(self):
        """Also those that wait for others of the same communicator."""
        with self.subTest("stopped"):
            self.fails(signal.SIGSTOP, 1, "requests")
        with self.subTest("killed"):
            self.fails(signal.SIGKILL, 2, "requests", *openmpi.outlives_ranks())


if __name__ == "__main__":
    unittest.main()
