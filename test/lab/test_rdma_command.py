# SPDX-License-Identifier: BSD-3-Clause
"""contrib/rdma, as far as it goes without a guest: its command line, what it computes, its table, what it breaks rails with."""

import os
import subprocess
import unittest
from unittest import mock

from bench_case import TOP
from nezha_faults.trigger import UNDONE_BY, Trigger
from nezha_lab import network
from nezha_rdma import cli, figures

MIB = 1 << 20


def rows(size, plain, ours):
    return [{"kind": kind, "size": size, "us": us, "calls": 2, "machine_s": us / 1e6}
            for pair in zip(plain, ours) for kind, us in zip(("send", "allreduce"), pair)]


class CommandLine(unittest.TestCase):
    def run_it(self, *arguments):
        return subprocess.run([os.path.join(TOP, "contrib", "rdma"), *arguments], capture_output=True, text=True, check=False)

    def test_values(self):
        for arguments, words in ((["--cases", "plain,odd"], "'odd': plain, cpu, equal"), (["--sizes", "1X"], "size '1X'")):
            done = self.run_it(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(words, done.stderr)


class Computed(unittest.TestCase):
    def test_large_sizes_by_what_they_carry_small_ones_by_their_time(self):
        large = figures.beside_plain(MIB, rows(MIB, [90.0, 80.0, 100.0], [100.0, 100.0, 100.0]))
        self.assertEqual((large.values, large.asked, large.met), ((0.9, 0.8, 1.0), 0.85, True))
        small = figures.beside_plain(4, rows(4, [10.0, 10.0], [12.0, 15.0]))
        self.assertEqual((small.values, small.met), ((1.2, 1.5), False))

    def test_floor_is_what_the_same_differs_by(self):
        self.assertAlmostEqual(figures.floor([10.0, 11.0, 11.0], [5.0, 5.0, 5.0]), 1 - 10 / 11)
        self.assertIsNone(figures.floor([10.0]))

    def test_two_rails_beside_the_sum_of_each(self):
        found = figures.together("equal", 16 * MIB, {"a": [200.0, 200.0], "b": [200.0, 400.0]}, [100.0, 150.0])
        self.assertEqual(found.what, "16M: of the sum of a and b")
        self.assertAlmostEqual(found.values[0], 1.0)
        self.assertAlmostEqual(found.values[1], (1 / 150) / (1 / 200 + 1 / 400))

    def test_processor_time_of_large_calls(self):
        found = figures.processor_time(rows(MIB, [1e6], [2e6]) + rows(4, [1e6], [1e6]), rows(MIB, [1e6], [4e6]))
        self.assertEqual(found.values, (0.5,))
        self.assertEqual(figures.processor_seconds(rows(MIB, [1e6], [2e6])), [1024.0])
        self.assertEqual(figures.processor_time(rows(MIB, [1e6], [2e6]), rows(MIB, [1e6], [4e6]), "send").values, (0.25,))

    def session(self, rounds):
        with mock.patch.object(cli, "Jobs"):
            session = cli.Session(mock.Mock(rounds=rounds, calls=1, build="", rate="1gbit"), mock.MagicMock())
        session.say = mock.Mock()
        return session

    def test_all_that_was_measured_is_written(self):
        session = self.session(2)
        session.jobs.bench.return_value = [{"us": 10.0}]
        session.together("equal", "a", "b", ("none",))
        self.assertEqual(session.raw["equal"], {"a": [10.0] * 2, "b": [10.0] * 2, "a,b": [10.0] * 2})

    def test_rounds_that_are_complete_stand_whatever_ends_the_next_one(self):
        session = self.session(5)
        session.jobs.bench.side_effect = [[{"us": 10.0}]] * 7 + [KeyboardInterrupt()]
        with self.assertRaises(KeyboardInterrupt):
            session.together("equal", "a", "b", ("none",))
        self.assertEqual(session.raw["equal"], {"a": [10.0] * 2, "b": [10.0] * 2, "a,b": [10.0] * 2})
        self.assertEqual([row.case for row in session.rows], ["equal"])

    def test_faults_that_are_over_stand_too(self):
        def many(*_, **__):
            yield {"beyond_ms": 40.0}
            raise KeyboardInterrupt

        session = self.session(5)
        session.jobs.log = ""
        with mock.patch.object(cli, "Trigger"), mock.patch.object(cli, "CallJob") as job, mock.patch.object(cli.fault_rounds, "many", many):
            job.return_value.__enter__.return_value.log.return_value = "said"
            with self.assertRaises(KeyboardInterrupt):
                session.fault("down", "down")
        self.assertEqual((session.raw["down"], session.rows[0].values, session.jobs.log), ([{"beyond_ms": 40.0}], (40.0,), "said"))

    def test_table(self):
        found = [figures.Figure("equal", "what", (0.95, 0.8, 0.7), 0.05, 0.9, True), figures.fault("down", [{"beyond_ms": 41.0}])]
        lines = list(figures.lines(found))
        self.assertRegex(lines[1], r"^equal +what +0\.80 +0\.70 +0\.95 +5 % +>= 0\.9 +3 +missed$")
        self.assertRegex(lines[2], r"^down +beyond what the other rail needs +41 ms +41 ms +41 ms +<= 100 ms +1$")


class Lossless(unittest.TestCase):
    def test_queues_of_rdma_rails_hold_all_that_is_under_way(self):
        self.assertIn("limit 4mb", network.shape_line("eth0", "100mbit", True))
        self.assertIn("latency 20ms", network.shape_line("eth0", "100mbit"))
        self.assertNotIn("tbf", network.shape_line("eth0", "none", True))


class Broken(unittest.TestCase):
    def test_devices_go_down_within_their_node_and_carriers_at_the_switch(self):
        trigger, said = Trigger(mock.Mock(**{"spec.node_list": lambda node: [node]})), []
        with mock.patch.object(Trigger, "_say", lambda _, tool, lines: said.append((tool, lines))):
            for verb in ("down", "up", "cut"):
                trigger.pull(verb, [2], 1)
        self.assertEqual(said, [(1, ["link set eth2 down"]), (1, ["link set eth2 up"]), ("ip", ["link set n1e2 down"])])
        self.assertEqual(UNDONE_BY["down"], "up")


if __name__ == "__main__":
    unittest.main()
