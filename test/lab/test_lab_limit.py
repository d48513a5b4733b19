# SPDX-License-Identifier: BSD-3-Clause
"""The computed limit, against values worked out by hand; needs no lab."""

import unittest

import lab_case  # noqa: F401 (sets the path)
from nezha_lab import LabError, limit
from nezha_lab.mpi import hosts
from nezha_lab.spec import LabSpec

MIB = 1 << 20


class Limit(unittest.TestCase):
    def near(self, microseconds, message_bytes, rates):
        self.assertAlmostEqual(limit.allreduce_seconds(message_bytes, rates) * 1e6, microseconds, delta=1)

    def test_two_equal_rails(self):
        # 16 MiB * 1.5 = 25165824 bytes; at 2 * 957 Mbit/s 105187 us, less 2 * 128 KiB at 2 Gbit/s, 1049 us
        self.near(105187 - 1049, 16 * MIB, [["1gbit", "1gbit"]] * 4)

    def test_uneven_rails(self):
        # at 1.5 * 957 Mbit/s 140248 us, less 2 * 128 KiB at 1.5 Gbit/s, 1398 us
        self.near(140248 - 1398, 16 * MIB, [["1gbit", "500mbit"]] * 4)

    def test_two_nodes_move_one_vector(self):
        self.near(70125 - 1049, 16 * MIB, [["1gbit", "1gbit"]] * 2)

    def test_slowest_node_counts(self):
        self.near(140248 - 1398, 16 * MIB, [["1gbit", "1gbit"], ["1gbit", "500mbit"], ["1gbit", "1gbit"], ["2gbit"]])

    def aggregated(self, microseconds, rates, *aggregators):
        self.assertAlmostEqual(limit.aggregated_seconds(16 * MIB, rates, aggregators) * 1e6, microseconds, delta=1)

    def test_an_aggregator(self):
        # Nodes (105187 - 35062 s) us for a part s of 16 MiB, less 1049 us; an aggregator of 8 Gbit/s 70125 s us, less 262 us.
        self.aggregated(69338, [["1gbit", "1gbit"]] * 4, (["4gbit", "4gbit"], 4))
        # One of 2 Gbit/s 280500 s us, less 1049 us: s is 1/3.
        self.aggregated(92451, [["1gbit", "1gbit"]] * 4, (["1gbit", "1gbit"], 4))

    def test_a_tree_of_aggregators(self):
        # The slowest counts: a rack's of 2 Gbit/s with three links 210375 s us, less 1049 us. Nodes as above: s is 3/7.
        racks = [(["1gbit", "1gbit"], 3)] * 2
        self.aggregated(89111, [["1gbit", "1gbit"]] * 4, (["4gbit", "4gbit"], 2), *racks)
        # The upstream one with two links to racks 140250 s us: s is 3/5.
        self.aggregated(83101, [["1gbit", "1gbit"]] * 4, (["1gbit", "1gbit"], 2), *[(["4gbit", "4gbit"], 3)] * 2)

    def test_an_aggregator_in_a_network_of_its_own(self):
        # Rails 105187 (1 - s) us, less 1049 us; the node's own link to the aggregator 140250 s us, less 1049 us; the aggregator's, of
        # 4 Gbit/s for four, 140250 s us, less 262 us: s is 0.425.
        own = [["1gbit"]] * 4
        found = limit.aggregated_seconds(16 * MIB, [["1gbit", "1gbit"]] * 4, [(["4gbit"], 4)], own=own)
        self.assertAlmostEqual(found * 1e6, 59395, delta=1)
        # A node whose own link has half the rate 280500 s us, less 2097 us: s is 0.275.
        found = limit.aggregated_seconds(16 * MIB, [["1gbit", "1gbit"]] * 4, [(["4gbit"], 4)], own=[["500mbit"], *own[1:]])
        self.assertAlmostEqual(found * 1e6, 75164, delta=1)

    def test_an_aggregator_without_limit(self):
        self.aggregated(70125 - 1049, [["1gbit", "1gbit"]] * 4, (["none", "none"], 4))

    def in_a_row(self, microseconds, calls, pause, rates=(("1gbit", "1gbit"),) * 2):
        """Of a vector of 1 MiB by two nodes, which move 1 MiB: 4383 us at 2 * 957 Mbit/s."""
        rhythm = limit.Rhythm(calls, pause)
        self.assertAlmostEqual(limit.allreduce_seconds(MIB, rates, rhythm) * 1e6, microseconds, delta=1)

    def test_one_call_finds_the_bucket_full(self):
        self.in_a_row(4383 - 1049, 1, 0)
        self.near(4383 - 1049, MIB, [["1gbit", "1gbit"]] * 2)

    def test_calls_without_a_pause_have_one_burst_in_all(self):
        self.in_a_row(4383 - 105, 10, 0)
        self.in_a_row(4383, 10 ** 6, 0)

    def test_in_a_pause_the_bucket_fills_again(self):
        self.in_a_row(4383 - 300, 10 ** 6, 300e-6)
        self.in_a_row(4383 - 105 - 300, 10, 300e-6)
        # a rail of half the rate gets back half as much: 300 us again, of a longer time
        self.in_a_row(5844 - 300, 10 ** 6, 300e-6, [["1gbit", "500mbit"]] * 2)

    def test_no_bucket_holds_more_than_a_burst(self):
        self.in_a_row(4383 - 1049, 10, 1.0)
        # 128 KiB of the faster rail, and what the other one has after 1.5 ms, 94 KB: at 1.5 Gbit/s 1199 us
        self.in_a_row(5844 - 1199, 10 ** 6, 1500e-6, [["1gbit", "500mbit"]] * 2)

    def test_where_there_is_none(self):
        self.near(0, 64 * 1024, [["1gbit", "1gbit"]] * 4)
        self.near(0, 16 * MIB, [["none", "1gbit"]] * 4)
        self.near(0, 16 * MIB, [["1gbit"]])


class Hosts(unittest.TestCase):
    def test_even(self):
        self.assertEqual(hosts(4, None, None), [1, 1, 1, 1])
        self.assertEqual(hosts(4, 2, None), [1, 1, 0, 0])
        self.assertEqual(hosts(4, 6, None), [2, 2, 1, 1])

    def test_filled(self):
        self.assertEqual(hosts(4, None, 2), [2, 2, 2, 2])
        self.assertEqual(hosts(4, 5, 2), [2, 2, 1, 0])

    def test_each_node_its_own_number(self):
        self.assertEqual(hosts(4, None, [1, 2, 4, 5]), [1, 2, 4, 5])
        self.assertEqual(hosts(4, 3, (1, 2)), [1, 2, 0, 0])
        for wrong in ((4, 4, (1, 2)), (1, None, (1, 2)), (2, None, (1, -1))):
            with self.assertRaisesRegex(LabError, "a number for each of"):
                hosts(*wrong)

    def test_too_many(self):
        with self.assertRaisesRegex(LabError, "^np '9': 4 nodes with 2 ranks each hold at most 8$"):
            hosts(4, 9, 2)
        with self.assertRaisesRegex(LabError, "^ppn '0': a number from 1 on is allowed$"):
            hosts(4, 4, 0)


class Hubs(unittest.TestCase):
    def test_who_reaches_whom(self):
        spec = LabSpec.make(4, ["1gbit", "1gbit", "1gbit"], hubs=["2:n3"])
        self.assertEqual((spec.shared_rails(), spec.own_rails(3), spec.own_rails(0)), ([0, 1], [2], []))
        self.assertEqual([spec.isolated(node, 2) for node in range(4)], [True, True, True, False])
        self.assertFalse(spec.isolated(0, 1) or spec.isolated(0, "mgmt"))

    def test_wrong_ones(self):
        for hubs, more, words in ((["2"], {}, "^hub '2': RAIL:NODE is allowed, such as 2:4$"), (["2:9"], {}, "^node '9'"),
                                  (["3:1"], {}, "^rail '3'"), (["0:1", "1:1", "2:1"], {}, "^every rail has a hub"),
                                  (["2:1"], {"one_subnet": True}, "exclude each other")):
            with self.assertRaisesRegex(LabError, words):
                LabSpec.make(4, ["1gbit", "1gbit", "1gbit"], hubs=hubs, **more)


class Addresses(unittest.TestCase):
    def test_subnet_per_rail(self):
        spec = LabSpec.make(3, ["1gbit", "none"])
        self.assertEqual([spec.address(2, 0), spec.address(0, 1)], [("10.10.0.3", 24), ("10.11.0.1", 24)])

    def test_one_subnet(self):
        spec = LabSpec.make(3, ["1gbit", "none"], one_subnet=True)
        self.assertEqual([spec.address(2, 0), spec.address(0, 1)], [("10.10.0.3", 16), ("10.10.1.1", 16)])


if __name__ == "__main__":
    unittest.main()
