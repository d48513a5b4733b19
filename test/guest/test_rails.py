# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on four nodes whose rails are RDMA devices too, in a guest: lab guest -- nezha_lab/tap.py THIS."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))

from fault_case import FaultCase, report_rows  # noqa: E402 (the path must be set first)
from mpi_case import BUILD, program  # noqa: E402
from nezha_lab import Lab, LabUnavailable, openmpi  # noqa: E402


TCP = "tcp/eth0"
VERBS = "verbs/eth1,verbs/eth2"
SIZE = 128 * 1024


def bench(name):
    return os.path.join(BUILD, "contrib", "programs", name)


class GuestCase(FaultCase):
    """One lab for all: it takes ten seconds to come up."""

    nodes, rates = 4, ["none"] * 3
    lab = None

    def setUp(self):
        if GuestCase.lab is None:
            GuestCase.lab = Lab(nodes=self.nodes, rails=self.rates, with_rdma=True)
            try:
                GuestCase.lab.up(ephemeral=True)
            except LabUnavailable as reason:
                GuestCase.lab = None
                raise unittest.SkipTest(str(reason)) from None
            unittest.addModuleCleanup(GuestCase.lab.down)

    def carried(self, include, **params):
        """Output of a job whose sums go over these rails; the bench checks each element of each. Calls take long there, 0.1 s
        and more for 128 KiB over verbs alone, so that nothing here depends on the time."""
        job = self.start(bench("nezha_allreduce_bench"), "-s", SIZE, "-i", 10, "-x", 1, coll_nezha_algorithm="ring",
                         coll_nezha_rail_include=include, **params)
        output = openmpi.output(job.communicate(timeout=200)[0])
        self.assertEqual(job.returncode, 0, output[-3000:])
        self.assertIn("of 4 ranks: ready", output)
        return output

    def calls(self, job, count):
        """Waits for so many calls by Nezha, each of which the program checks."""
        self.await_line(job, '"nezha":true', count)


class Devices(GuestCase):
    def test_each_node_has_its_own(self):
        for node in range(self.nodes):
            shown = self.lab.exec(node, ["rdma", "link"], capture_output=True, text=True, check=True).stdout.split()
            self.assertEqual([word for word in shown if "rxe" in word], [f"n{node}rxe{rail}/1" for rail in range(3)])


class Contract(GuestCase):
    def test_kept_by_real_devices(self):
        """With messages that are copied, and with payloads that NICs read from where they lie."""
        program_of_contract = os.path.join(BUILD, "test", "guest", "verbs_contract")
        done = self.lab.exec(0, [program_of_contract, "--gtest_brief=1"], capture_output=True, text=True, check=False, timeout=150)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-1000:])
        self.assertRegex(done.stdout, r"PASSED  \] [4-9]\d tests")


class TcpJobs(GuestCase):
    def test_carrier_lost(self):
        self.survives([(1, self.lab.cut, 1, 2), (2, self.lab.heal, 1, 2)], seconds=3)


class VerbsJobs(GuestCase):
    def test_sums_over_two_rails(self):
        output = self.carried(VERBS, coll_nezha_verbose="2")
        self.assertIn("rail verbs/n0rxe1\n", output)
        self.assertNotIn("tcp/", output)

    def test_tcp_and_two_verbs_rails_at_once(self):
        """Each of the three carries a share, by rank 0's report."""
        output = self.carried(f"{TCP},{VERBS}", coll_nezha_report="1")
        frames = {rail: int(row[5]) for rail, row in report_rows(output, "rank 0").items()}
        self.assertEqual(sorted(frames), ["tcp/eth0", "verbs/n0rxe1", "verbs/n0rxe2"], output[-3000:])
        for rail, sent in frames.items():
            self.assertGreater(sent, 0, f"{rail}\n{output[-3000:]}")

    def test_carrier_lost_and_back(self):
        sizes = self.lost_and_back()
        self.assertEqual(len(sizes), 2, f"what a rail receives into, what a pair sends from, and nothing else: {sizes}")

    def test_carrier_lost_and_back_while_nics_read_in_place(self):
        self.assertGreater(len(self.lost_and_back(coll_nezha_zero_copy="4k")), 2)

    def lost_and_back(self, **params):
        """Returns the sizes of what the job has registered on a node, by the kernel's word."""
        job = self.start(bench("nezha_fault_bench"), SIZE, coll_nezha_algorithm="ring",
                         coll_nezha_rail_include=f"{TCP},{VERBS}", coll_nezha_verbose="2", **params)
        self.calls(job, 10)
        self.lab.cut(2, 2)
        self.await_line(job, "n2rxe2: port error")
        self.calls(job, 10)
        self.lab.heal(2, 2)
        self.await_line(job, "lane up: verbs/n2rxe2")
        self.calls(job, 10)
        shown = self.lab.exec(0, ["rdma", "resource", "show", "mr"], capture_output=True, text=True, check=True).stdout
        return {int(size) for size in re.findall(r"mrlen (\d+)", shown)}


class AnyOfThree(GuestCase):
    def test_each_is_lost_in_turn_and_the_report_has_the_three_shares(self):
        """One job, whose program checks every element of every call; the one rail of each kind that is lost comes back before
        the next one goes."""
        job = self.start(program("survives"), 40, SIZE, coll_nezha_algorithm="ring", coll_nezha_rail_include=f"{TCP},{VERBS}",
                         coll_nezha_verbose="2", coll_nezha_report="1")
        self.await_line(job, "rails carry")
        for rail, lost, back in ((0, "tcp/eth0", "lane up: tcp/eth0"), (1, "n1rxe1", "lane up: verbs/n1rxe1"),
                                 (2, "n1rxe2", "lane up: verbs/n1rxe2")):
            self.lab.cut(rail, 1)
            self.await_line(job, lost)
            self.lab.heal(rail, 1)
            self.await_line(job, back)
        output = openmpi.output(job.communicate(timeout=200)[0])
        self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])
        shares = {rail: float(row[9]) for rail, row in report_rows(output, "rank 0").items()}
        self.assertEqual(sorted(shares), ["tcp/eth0", "verbs/n0rxe1", "verbs/n0rxe2"], output[-3000:])
        self.assertGreater(min(shares.values()), 0, output[-3000:])
        self.assertAlmostEqual(sum(shares.values()), 100, delta=1)


if __name__ == "__main__":
    unittest.main()
