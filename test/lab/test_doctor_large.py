# SPDX-License-Identifier: BSD-3-Clause
"""nezha doctor on clusters too large for every pair: whom a node tries, what is said of it, and what the checks take."""

import unittest

import lab_case  # noqa: F401 (makes the packages importable)

from nezha_command import doctor
from nezha_doctor import check_pairs, checks, peers
from nezha_doctor.findings import Cluster

RAIL = "tcp/eth0"


def facts(number, rails=1):
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return {"nezha": "1", "parameters": {}, "trouble": [], "unknown": [], "available": ["eth0"], "left_out": [],
            "aggregators": [], "aggregator_share": "auto",
            "rails": [{"name": RAIL, "device": "eth0", "address": address, "prefix": 8, "speed_mbps": 1000}][:rails],
            "ompi": {"version": "4", "built_for": "4", "component_found": True, "component_elsewhere": ""}, "machine": {"all_cores": 8, "cores": 8, "ranks": 8, "load": 0.0},
            "settings": {}, "interfaces": {"eth0": {"mtu": 1500, "mac": f"02:{number:010x}", "numa": None, "settings": {}}}}


def cluster_of(count, without_rails=()):
    """A sound one, as its nodes would tell of it."""
    nodes = [f"n{number}" for number in range(count)]
    told = {node: facts(number, rails=node not in without_rails) for number, node in enumerate(nodes)}
    probes = {node: {"listen": {}, "links": [], "neighbours": {}, "lanes": [
        {"rail": RAIL, "peer": peer, "peer_rail": RAIL, "result": "ok", "large": "ok", "rtt_us": 80.0}
        for peer in peers.tried_by(nodes, node) if told[node]["rails"] and told[peer]["rails"]]} for node in nodes}
    return Cluster(told, probes)


class Peers(unittest.TestCase):
    def test_all_of_a_small_cluster(self):
        for count in (1, 2, 3, peers.MOST + 1):
            nodes = list(range(count))
            self.assertTrue(all(peers.tried_by(nodes, node) == [*nodes[:node], *nodes[node + 1:]] for node in nodes), count)
            self.assertEqual(peers.pairs(count), (count * (count - 1) // 2,) * 2)

    def test_some_of_a_large_one(self):
        """Bounded, tried from both ends, the next in the list among them (the links that are measured), in all distances."""
        for count in (peers.MOST + 2, peers.MOST + 3, 128, 129, 500, 1000, 1001):
            nodes = list(range(count))
            tried = {node: peers.tried_by(nodes, node) for node in nodes}
            for node, others in tried.items():
                self.assertLessEqual(peers.MOST - 4, len(others))
                self.assertLessEqual(len(others), peers.MOST)
                self.assertTrue(node not in others and len(set(others)) == len(others))
                self.assertTrue(all(node in tried[other] for other in others))
                self.assertIn((node + 1) % count, others)
                self.assertIn((node + count // 2) % count, others)
            self.assertEqual(peers.pairs(count), (sum(map(len, tried.values())) // 2, count * (count - 1) // 2))


class Large(unittest.TestCase):
    def test_the_first_line_says_what_was_tried(self):
        self.assertEqual(doctor.summary(cluster_of(4)), "4 nodes, 4 rails, 6 lanes between them")
        self.assertRegex(doctor.summary(cluster_of(200)), r"^200 nodes, 200 rails; 6[0-9]00 of 19900 pairs of nodes were tried, "
                         f"{peers.MOST} others a node at most: 6[0-9]00 lanes$")

    def test_nothing_is_said_of_pairs_that_nobody_tried(self):
        self.assertEqual(checks.findings(cluster_of(300)), [])

    def test_a_node_whose_rail_is_silent(self):
        cluster = cluster_of(300)
        for node, probe in cluster.probes.items():
            for row in probe["lanes"]:
                if "n7" in (node, row["peer"]):
                    row["result"], row["large"] = "timeout", ""
        found = checks.findings(cluster)
        self.assertEqual([(finding.check, list(finding.nodes)) for finding in found], [("pairs", ["n7"])])

    def test_nodes_that_cannot_be_paired(self):
        """A lane that was to be tried and is not there is told; nodes without rails are another check's affair."""
        cluster = cluster_of(300, without_rails={"n9"})
        gone = ("n20", "n21")
        for node in gone:
            cluster.probes[node]["lanes"] = [row for row in cluster.probes[node]["lanes"] if row["peer"] not in gone]
        self.assertEqual([finding.nodes for finding in check_pairs.check(cluster)], [list(gone)])


if __name__ == "__main__":
    unittest.main()
