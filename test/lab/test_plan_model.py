# SPDX-License-Identifier: BSD-3-Clause
"""The model of nezha plan: counts as the engine has them, limits, resources, changes; needs no build."""

import math
import os
import re
import unittest

from bench_case import TOP
from lab_case import PYTHON_DIR  # noqa: F401 (its import makes nezha_plan importable)

from nezha_plan import aggregation, algorithms, answers, description, model, on_node, pcie, what_if
from nezha_plan.algorithms import DOUBLING, HALVING, MESH, RING, SINGLE_STEP
from nezha_plan.errors import PlanError
from nezha_plan.model import Way

BARE = {"rate": "1GB", "payload": 1, "latency": "25us", "message": "6us", "byte": "0ns"}
IDLE = {"call": "0us", "fold": "0ns", "piece": "0us"}
MB = 1 << 20


def cluster(nodes=4, rails=1, **more):
    """Of rails, a number or a list, that cost what cost.cc assumes, and processors that cost nothing."""
    own = [{**BARE, "name": f"r{number}"} for number in range(rails)] if isinstance(rails, int) else rails
    return description.cluster({"nodes": nodes, "rails": own, "cpu": IDLE, **more})


def seconds(where, algorithm, size, *rails):
    return model.estimate(where, Way(algorithm, rails), size).seconds


_UNITS = ("kMicrosecond",)


def constant(path, name):
    """The value of a constant of the engine, in bytes or in the unit that it names."""
    with open(os.path.join(TOP, "components", path), encoding="utf-8") as file:
        text = re.search(rf"\b{name} = ([^;]+);", file.read())[1]
    value = 1
    for word in text.split(" * "):
        value *= 1 if word in _UNITS else int(re.search(r"\d+", word)[0])
    return value


class Engine(unittest.TestCase):
    def rows(self):
        with open(os.path.join(TOP, "test", "tables", "costs.txt"), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    name, *numbers = line.split()
                    yield name, *map(float, numbers)

    def test_costs_are_those_of_the_engine(self):
        """test/unit/test_cost.cc asks the engine for the same file. The model overlaps what cost.cc adds up, where messages to several
        peers are sent at once."""
        for name, ranks, size, nanoseconds in self.rows():
            with self.subTest(algorithm=name, ranks=ranks, size=size):
                count = algorithms.counts(name, int(ranks))
                self.assertAlmostEqual(count.hops * 25000 + count.messages * 6000 + count.sent * size, nanoseconds, 2)
                ours = 1e9 * seconds(cluster(int(ranks)), name, int(size))
                if name in (MESH, SINGLE_STEP):
                    parts = count.hops * 25000, count.messages * 6000, count.sent * size
                    self.assertTrue(parts[0] + max(parts[1:]) - 1 <= ours <= sum(parts) + 1, (parts, ours))
                elif name == RING and size > ranks * algorithms.SMALLEST_CHUNK:
                    self.assertLessEqual(ours, nanoseconds + 2 * (ranks - 1) * 6000)  # a message more a block, of two chunks
                elif (chain := algorithms.chain(name, int(ranks))) < count.hops:  # cost.cc counts steps that no block goes through
                    self.assertTrue(chain * 31000 + count.sent * size - 1 <= ours < nanoseconds, ours)
                else:  # the chain of doubling's hops has a message more than its busiest rank sends, where ranks pair up
                    self.assertAlmostEqual(ours, nanoseconds + 6000 * max(0, chain - count.messages), 0)

    def test_limits_are_those_of_the_engine(self):
        for ours, path, name in ((algorithms.MOST_COPIED, "util/params.h", "kMostCopied"), (algorithms.MOST_MESH, "util/params.h", "kMostMesh"),
                                 (algorithms.SPLIT, "tuning/candidates.cc", "kSplit"), (algorithms.CHUNKS, "tuning/plan.cc", "kChunks"),
                                 (algorithms.SMALLEST_CHUNK, "tuning/plan.cc", "kSmallestChunk"), (algorithms.WHOLE, "trunk/lane_limits.h", "kSmall"),
                                 (algorithms.LARGEST_CHUNK, "tuning/plan.cc", "kLargestChunk"), (algorithms.LEAST, "trunk/lane_limits.cc", "kLeastOfAny"),
                                 (algorithms.LEAST_MICROSECONDS, "trunk/lane_limits.cc", "kLeastTime")):
            self.assertEqual(ours, constant(path, name), name)

    def test_what_is_possible(self):
        self.assertEqual([name for name in algorithms.ALL if algorithms.possible(name, 16 << 10)], list(algorithms.ALL))
        self.assertEqual([name for name in algorithms.ALL if algorithms.possible(name, 32 << 10)], [MESH, HALVING, RING])
        self.assertEqual([name for name in algorithms.ALL if algorithms.possible(name, 32 * MB)], [RING])
        self.assertTrue(algorithms.possible(MESH, 1024, 33))
        self.assertFalse(algorithms.possible(MESH, 1024, 34))

    def test_halving_sends_each_block_once(self):
        for ranks in range(2, 40):
            distances = algorithms.reaches(ranks)
            self.assertEqual(sum(before // 2 for before in distances[:-1]), ranks - 1)
            self.assertEqual(2 * (len(distances) - 1), algorithms.counts(HALVING, ranks).hops)
            self.assertLessEqual(algorithms.chain(HALVING, ranks), algorithms.counts(HALVING, ranks).hops)
        self.assertEqual([algorithms.chain(HALVING, ranks) for ranks in (2, 3, 4, 6, 8, 9, 16)], [2, 2, 4, 4, 6, 4, 8])


class Crossing(unittest.TestCase):
    def simulated(self, ranks, group, sends):
        """The most that one group sends out, over what its ranks send. sends: {(from, to): blocks}."""
        out, total = {}, {}
        for (source, to), blocks in sends.items():
            total[source // group] = total.get(source // group, 0) + blocks
            if source // group != to // group:
                out[source // group] = out.get(source // group, 0) + blocks
        return max(out.get(number, 0) / total[number] for number in total)

    def test_ring(self):
        sends = {(rank, (rank + 1) % 12): 1 for rank in range(12)}
        self.assertAlmostEqual(algorithms.crossing(RING, 12, 4).part, self.simulated(12, 4, sends))

    def test_mesh(self):
        sends = {(one, other): 1 for one in range(12) for other in range(12) if one != other}
        self.assertAlmostEqual(algorithms.crossing(MESH, 12, 3).part, self.simulated(12, 3, sends))

    def test_doubling(self):
        sends = {(rank, rank ^ 1 << bit): 1 for rank in range(16) for bit in range(4)}
        for group in (1, 2, 4, 8):
            self.assertAlmostEqual(algorithms.crossing(DOUBLING, 16, group).part, self.simulated(16, group, sends))

    def test_halving(self):
        for ranks, group in ((16, 4), (12, 3), (24, 6)):
            distances, sends = algorithms.reaches(ranks), {}
            for before, after in zip(distances, distances[1:]):
                for rank in range(ranks):
                    key = rank, (rank + after) % ranks
                    sends[key] = sends.get(key, 0) + before // 2
            self.assertAlmostEqual(algorithms.crossing(HALVING, ranks, group).part, self.simulated(ranks, group, sends))

    def test_within_one_group_nothing_leaves(self):
        for name in algorithms.ALL:
            self.assertEqual(algorithms.crossing(name, 8, 8), algorithms.Crossing(0.0, 0))


class Resources(unittest.TestCase):
    def test_two_rails_carry_twice_as_much(self):
        one, two = (seconds(cluster(rails=rails), RING, 256 * MB) for rails in (1, 2))
        self.assertAlmostEqual(one / two, 2, 2)

    def test_small_messages_keep_to_one_rail(self):
        self.assertEqual(seconds(cluster(), DOUBLING, 4096), seconds(cluster(rails=2), DOUBLING, 4096))

    def test_large_vectors_reach_the_rails_limit(self):
        where = cluster(8, 2)
        answer = answers.answer(where, 64 * MB)
        self.assertEqual(answer.best.limit, "rail r0")
        self.assertTrue(0.99 < answers.least(where, 64 * MB) / answer.best.seconds <= 1)

    def test_a_device_that_rails_share(self):
        rails = [{**BARE, "name": name, "pcie": "slot"} for name in ("a", "b")]
        shared = cluster(rails=rails, pcie=[{"name": "slot", "rate": "1GB"}])
        self.assertEqual(model.estimate(shared, Way(RING), 64 * MB).limit, "pcie slot")
        self.assertAlmostEqual(seconds(shared, RING, 64 * MB) / seconds(cluster(), RING, 64 * MB), 1, 2)

    def test_uplinks(self):
        tree = cluster(64, switch={"kind": "fat_tree", "levels": [{"nodes": 8, "oversubscription": 4}]})
        self.assertEqual(model.estimate(tree, Way(MESH), 16 * MB).limit, "uplinks of 8 nodes")
        self.assertAlmostEqual(seconds(tree, RING, 256 * MB) / seconds(cluster(64), RING, 256 * MB), 1, 2)  # one of 8 leaves
        self.assertAlmostEqual(seconds(tree, MESH, 16 * MB) / seconds(cluster(64), MESH, 16 * MB), 4 * 56 / 63, 1)

    def test_cores_that_ranks_share(self):
        own, shared = (cluster(rails=[{**BARE, "byte": "10ns"}], ranks_per_node=4, cpu={**IDLE, **cores}) for cores in ({}, {"cores": 2}))
        self.assertAlmostEqual(seconds(shared, RING, 64 * MB) / seconds(own, RING, 64 * MB), 2, 2)

    def test_machines_that_nodes_share(self):
        lab = cluster(8, rails=[{**BARE, "byte": "10ns"}], cpu={**IDLE, "cores": 2, "machines": 1})
        own = cluster(8, rails=[{**BARE, "byte": "10ns"}])
        self.assertAlmostEqual(seconds(lab, RING, 64 * MB) / seconds(own, RING, 64 * MB), 4, 1)

    def test_a_burst_is_free(self):
        burst = cluster(rails=[{**BARE, "burst": "1M"}])
        self.assertAlmostEqual(seconds(cluster(), RING, 64 * MB) - seconds(burst, RING, 64 * MB), MB / 1e9, 5)

    def test_what_costs_nothing_takes_some_time(self):
        free = cluster(rails=[{**BARE, "latency": "0us", "message": "0us", "burst": "1G"}])
        answer = answers.answer(free, 4096)
        self.assertTrue(0 < answer.best.seconds < 1e-9)
        self.assertEqual(answer.margin, 1)

    def test_a_burst_needs_rest_to_fill_up_again(self):
        size = 16 * MB
        rested, hardly, long = (cluster(rails=[{**BARE, "burst": "64M"}], **rest) for rest in ({}, {"rest": "1ms"}, {"rest": "9s"}))
        self.assertEqual(seconds(rested, MESH, size), seconds(long, MESH, size))
        self.assertAlmostEqual(seconds(hardly, MESH, size), 1.5 * size / 1e9 - 1e-3, 5)  # whatever else it waits for meanwhile
        worked = cluster(rails=[{**BARE, "burst": "64M"}], rest="1ms", rest_byte="0.1ns")
        self.assertAlmostEqual(seconds(worked, MESH, size), 1.5 * size / 1e9 - 1e-3 - size / 1e10, 5)
        crowded = cluster(rails=[{**BARE, "burst": "64M"}], rest_byte="0.1ns", cpu={**IDLE, "cores": 1, "machines": 1})
        self.assertAlmostEqual(seconds(crowded, MESH, size), 1.5 * size / 1e9 - 4 * size / 1e10, 5)

    def test_bursts_come_back_on_all_rails(self):
        """Though each small message takes one of them."""
        for rails in (1, 2):
            where = cluster(rails=[{**BARE, "name": f"r{number}", "rate": "10MB", "burst": "1M"} for number in range(rails)], rest="1us")
            self.assertAlmostEqual(seconds(where, DOUBLING, 8192), 2 * 8192 / (rails * 1e7) - 1e-6, 7)

    def test_small_messages_to_many_peers_use_all_rails(self):
        one, two = (seconds(cluster(17, [{**BARE, "name": f"r{number}", "rate": "10MB"} for number in range(rails)]), MESH, 64 << 10) for rails in (1, 2))
        self.assertGreater(one / two, 1.8)

    def test_switches_that_reduce_take_a_vector_once(self):
        where = cluster(64, aggregators={"kind": "switch", "latency": "1us"})
        estimate = model.estimate(where, Way("", (), 1.0), 64 * MB)
        self.assertAlmostEqual(estimate.seconds, 64 * MB / 1e9 + 2 * 26e-6 + 12e-6, 5)

    def test_switches_on_the_way_to_what_reduces(self):
        """One a level up to a switch, a way out of a group has two, and within a group there is none more."""
        for kind, nodes, switches in (("switch", 64, 2), ("switch", 16, 1), ("switch", 8, 0), ("host", 64, 4), ("host", 16, 2), ("host", 8, 0)):
            tree = {"kind": "fat_tree", "levels": [{"nodes": 8}, {"nodes": 32}]}
            fast, slow = (aggregation.load(cluster(nodes, aggregators={"kind": kind}, switch={**tree, "latency": each}), 4096, 4096).waits
                          for each in ("0us", "3us"))
            self.assertAlmostEqual(slow - fast, 2 * switches * 3e-6, 9, (kind, nodes))

    def test_one_process_that_reduces_is_the_limit(self):
        where = cluster(16, aggregators={"kind": "host"})
        self.assertEqual(model.estimate(where, Way("", (), 1.0), 16 * MB).limit, "aggregators")
        best = answers.answer(where, 64 * MB).best
        self.assertTrue(best.way.algorithm and 0 < best.way.aggregated < 0.2, best.way)

    def test_pcie(self):
        self.assertAlmostEqual(8e-9 * pcie.raw_rate(3, 16), 126.03, 2)
        self.assertAlmostEqual(1e9 * pcie.packet_seconds(3, 16, 128), 9.39, 2)
        self.assertLess(pcie.payload_rate(3, 16, 128), pcie.payload_rate(3, 16, 256))


class RanksOfANode(unittest.TestCase):
    """Are added up in memory; as many as are worth it carry a part each between nodes (components/engine/hierarchy.cc)."""

    FREE = {"rate": "1000TB", "latency": "0us"}

    def test_a_node_sends_a_vector_once(self):
        for name in (RING, MESH, HALVING):
            one, many = (seconds(cluster(8, ranks_per_node=ranks, local=self.FREE), name, 16 * MB) for ranks in (1, 8))
            self.assertAlmostEqual(many / one, 1, delta=0.02, msg=name)

    def test_what_is_possible_depends_on_nodes(self):
        ways = answers.answer(cluster(16, 2, ranks_per_node=8), MB).estimates
        self.assertEqual({one.way.text() for one in ways}, {MESH, RING, HALVING, "mesh on one rail", "ring on one rail"})
        self.assertEqual(answers.answer(cluster(3, ranks_per_node=32), 64).best.way.algorithm, SINGLE_STEP)

    def test_small_vectors_are_carried_by_one_rank(self):
        one, many = (seconds(cluster(8, ranks_per_node=ranks, local=self.FREE), DOUBLING, 4096) for ranks in (1, 8))
        self.assertAlmostEqual(one, many)

    def test_memory(self):
        free, slow = (cluster(2, ranks_per_node=8, local={**self.FREE, "rate": rate}) for rate in ("1000TB", "1GB"))
        more = seconds(slow, RING, 64 * MB) - seconds(free, RING, 64 * MB)
        self.assertTrue(0.9 * 64 * MB / 1e9 < more < 1.1 * 64 * MB / 1e9, more)  # it copies nearly two vectors while rails carry one
        self.assertEqual(model.estimate(slow, Way(RING), 64 * MB).limit, "cpu")
        waits = cluster(2, ranks_per_node=8, local={**self.FREE, "latency": "100us"})
        self.assertAlmostEqual(seconds(waits, DOUBLING, 64) - seconds(free, DOUBLING, 64), 200e-6)

    def test_they_have_no_aggregators(self):
        for ranks, some in ((1, True), (2, False)):
            found = answers.answer(cluster(16, ranks_per_node=ranks, aggregators={"kind": "switch"}), 64 * MB)
            self.assertEqual(any(one.way.aggregated for one in found.estimates), some)

        with self.assertRaisesRegex(PlanError, "aggregators are modelled with one rank on each node, there are 2"):
            what_if.changed(cluster(ranks_per_node=2), "aggregator+1")

    def test_limits_are_those_of_the_engine(self):
        with open(os.path.join(TOP, "components", "engine", "hierarchy.h"), encoding="utf-8") as file:
            options = dict(re.findall(r"(segments|\w+_segment|least_part) = ([^,;]+)[,;]", file.read()))
        for name, ours in (("segments", on_node.SEGMENTS), ("least_segment", on_node.LEAST_SEGMENT), ("most_segment", on_node.MOST_SEGMENT),
                           ("least_part", on_node.LEAST_PART)):
            self.assertEqual(math.prod(map(int, options[name].split(" * "))), ours, name)
        self.assertEqual(constant("node/node_layout.h", "kNodeSmall"), on_node.MOST_SMALL)
        with open(os.path.join(TOP, "components", "node", "node_layout.h"), encoding="utf-8") as file:
            self.assertRegex(file.read(), f"kLeastSmall = {on_node.LEAST_SMALL >> 10} \\* 1024, .* kMostFolded = {on_node.MOST_FOLDED >> 10} \\* 1024;")


class Changes(unittest.TestCase):
    def setUp(self):
        self.cluster = cluster(rails=[{**BARE, "name": "a", "pcie": "slot"}], pcie=[{"name": "slot", "rate": "1GB"}],
                               switch={"kind": "dragonfly", "levels": [{"nodes": 2}]})

    def changed(self, text):
        return what_if.changed(self.cluster, text)

    def test_another_card_and_another_port(self):
        card, port = self.changed("rail+1"), self.changed("port+1")
        self.assertEqual([len(card.rails), len(card.devices)], [2, 2])
        self.assertEqual([len(port.rails), len(port.devices)], [2, 1])
        times = [seconds(where, RING, 64 * MB) for where in (self.cluster, card, port)]
        self.assertAlmostEqual(times[0] / times[1], 2, 1)
        self.assertAlmostEqual(times[0] / times[2], 1, 1)

    def test_names_that_are_taken(self):
        """No two rails and no two devices have the same, or one would count for both."""
        pcie_devices = [{"name": name, "rate": "1GB"} for name in ("slot", "slot+1")]
        where = cluster(rails=[{**BARE, "name": "a+1", "pcie": "slot+1"}, {**BARE, "name": "a", "pcie": "slot"}], pcie=pcie_devices)
        found = what_if.changed(where, "rail+2")
        self.assertEqual([rail.name for rail in found.rails], ["a+1", "a", "a+2", "a+3"])
        self.assertEqual([rail.device for rail in found.rails], ["slot+1", "slot", "slot+2", "slot+3"])
        self.assertEqual([rail.name for rail in what_if.changed(cluster(rails=1), "rail+1,rail+1").rails], ["r0", "r0+1", "r0+1+1"])

    def test_a_dead_rail(self):
        self.assertEqual([rail.name for rail in what_if.changed(cluster(rails=3), "rail-r1").rails], ["r0", "r2"])
        self.assertEqual([rail.name for rail in what_if.changed(cluster(rails=3), "rail-1").rails], ["r0", "r1"])
        numbered = cluster(rails=[{**BARE, "name": str(number)} for number in range(3)])
        self.assertEqual([rail.name for rail in what_if.changed(numbered, "rail-1").rails], ["0", "2"])

    def test_factors(self):
        self.assertAlmostEqual(self.changed("rate*2").rails[0].rate, 2e9)
        self.assertAlmostEqual(self.changed("rate:a*2,latency*0.5").rails[0].latency, 12.5e-6)
        self.assertEqual(self.changed("ranks*2,nodes+3").ranks, 14)
        self.assertEqual(self.changed("oversubscription*3").switch.levels[0].oversubscription, 3)
        self.assertEqual(self.changed("aggregator+2").aggregators, cluster(aggregators={"count": 2}).aggregators)
        self.assertEqual(self.changed("pcie*2").devices, {"slot": 2e9})

    def test_what_is_not_understood(self):
        for text, said in (("rails+1", "'rails.1': rail.N, port"), ("rail-b", "'rail-b': the rails are a"), ("rail-1", "no rail would be left"),
                           ("rate*0", "after . a number above 0"), ("rate+1", "are allowed"), ("rate:b*2", "the rails are a"),
                           ("nodes:a*2", "only rate, latency"), ("nodes*0.1", "2 to 1048576"), ("rail+16", "at most 16 rails"),
                           ("cores*2", "has no cpu.cores"), ("aggregator-1", "there are 0"), ("rail+x", "a whole number"), ("", "are allowed"),
                           ("port-1", "are allowed"), ("rate*nan", "after . a number"), ("rate*1e-300", "1 to 1000000000000000 are allowed for rate"),
                           ("latency*1e6,latency*1e6", "0 to 1000 are allowed for latency"), ("pcie*1e-300", "allowed for pcie"),
                           ("oversubscription*2000", "0 to 1000 are allowed for oversubscription")):
            with self.subTest(text=text), self.assertRaisesRegex(PlanError, said):
                self.changed(text)


if __name__ == "__main__":
    unittest.main()
