# SPDX-License-Identifier: BSD-3-Clause
"""Each of the doctor's checks on made-up facts: it says nothing of a sound cluster, and names what is wrong with another."""

import base64
import copy
import functools
import lzma
import random
import socket
import subprocess
import unittest

import lab_case  # noqa: F401 (makes the packages importable)

from nezha_command import memory, packed
from nezha_command.errors import CommandError
from nezha_doctor import (check_addresses, check_aggregators, check_component, check_kernel, check_memory, check_mtu, check_pairs, check_processors,
                          check_rails, check_speed, check_subnets, check_versions, checks, matrix)
from nezha_doctor.findings import ADVICE, PROBLEM, Cluster
from nezha_doctor.probe import Lane, Probe, phase_of
from nezha_lab import openmpi

NODES = ("n0", "n1", "n2", "n3")
RAILS = ("tcp/eth0", "tcp/eth1")


def mac(node, rail):
    return f"02:00:00:00:0{rail}:0{node}"


def facts(number):
    devices = [f"eth{rail}" for rail in range(len(RAILS))]
    return {"nezha": "1.0.0", "parameters": {}, "trouble": [], "unknown": [], "available": devices,
            "aggregators": [], "aggregator_share": "auto",
            "left_out": [{"name": "lo", "reason": "loopback"}],
            "rails": [{"name": name, "device": device, "address": f"10.1{rail}.0.{number + 1}", "prefix": 24, "speed_mbps": 1000}
                      for rail, (name, device) in enumerate(zip(RAILS, devices))],
            "ompi": {"version": "4.1.4", "built_for": "4.1.4", "component_found": True, "component_elsewhere": ""},
            "memory": {"way": "single_copy", "why": ""},
            "machine": {"all_cores": 8, "cores": 8, "ranks": 8, "load": 0.1},
            "settings": {"net.ipv4.tcp_rmem": "4096 131072 16777216", "net.ipv4.tcp_wmem": "4096 131072 16777216",
                         "net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_slow_start_after_idle": "0",
                         "net.ipv4.tcp_window_scaling": "1", "net.ipv4.tcp_sack": "1"},
            "interfaces": {device: {"mtu": 1500, "mac": mac(number, rail), "numa": 0, "settings": {}}
                           for rail, device in enumerate(devices)}}


def sound():
    """Four nodes, two rails, all lanes up; links of 118 MB/s both ways."""
    probes = {}
    for number, node in enumerate(NODES):
        rows = [{"rail": rail, "peer": peer, "peer_rail": rail, "result": "ok", "large": "ok", "rtt_us": 80.0}
                for peer in NODES if peer != node for rail in RAILS]
        links = [{"rail": rail, "peer": NODES[(number + 1) % 4], "peer_rail": rail, "there": 118e6, "back": 117e6} for rail in RAILS]
        known = {f"10.1{rail}.0.{other + 1}": mac(other, rail) for other in range(4) for rail in range(2) if other != number}
        probes[node] = {"listen": {}, "lanes": rows, "links": links, "neighbours": known}
    return Cluster({node: facts(number) for number, node in enumerate(NODES)}, probes)


def lane(cluster, node, rail, peer):
    return next(row for row in cluster.probes[node]["lanes"] if (row["rail"], row["peer"]) == (rail, peer))


def fail(cluster, node, rail, peer, there="timeout", back="timeout"):
    lane(cluster, node, rail, peer)["result"] = there
    lane(cluster, peer, rail, node)["result"] = back


class Checks(unittest.TestCase):
    def setUp(self):
        self.cluster = sound()

    def one(self, module, pattern, nodes=None, severity=PROBLEM):
        """The check finds one thing, of these nodes, whose text matches; no other check finds anything."""
        found = list(module.check(self.cluster))
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0].what, pattern)
        self.assertEqual(found[0].severity, severity)
        self.assertTrue(found[0].do)
        if nodes:
            self.assertEqual(list(found[0].nodes), list(nodes))
        self.assertEqual([finding for finding in checks.findings(self.cluster) if finding not in found], [])

    def test_a_sound_cluster(self):
        self.assertEqual(checks.findings(self.cluster), [])

    def test_a_single_node(self):
        self.assertEqual(checks.findings(Cluster({"n0": facts(0)})), [])

    def test_versions(self):
        self.cluster.facts["n2"]["nezha"] = "0.9.0"
        self.one(check_versions, "Nezha 0.9.0 is installed on n2, 1.0.0 elsewhere", ["n2"])

    def test_another_open_mpi(self):
        self.cluster.facts["n1"]["ompi"]["version"] = "5.0.7"
        self.one(check_versions, "built for Open MPI 4.1.4, and n1 has 5.0.7", ["n1"])

    def test_no_shared_memory(self):
        self.cluster.facts["n1"]["memory"] = {"way": "none", "why": "memfd_create: Operation not permitted"}
        self.one(check_memory, "ranks on n1 cannot share memory: memfd_create: Operation not permitted", ["n1"])

    def test_memory_that_others_cannot_read(self):
        self.cluster.facts["n2"]["memory"] = {"way": "copies", "why": "process 7 cannot be read"}
        self.one(check_memory, "processes on n2 cannot read each other's memory, as they can elsewhere: process 7", ["n2"], ADVICE)
        for facts_of_node in self.cluster.facts.values():
            facts_of_node["memory"] = {"way": "copies", "why": "process 7 cannot be read"}
        self.assertEqual(checks.findings(self.cluster), [])

    def test_how_memory_is_shared(self):
        """A fact, whether or not all nodes are alike."""
        def told():
            return memory.by_way({node: facts_of_node["memory"] for node, facts_of_node in self.cluster.facts.items()})
        ((nodes, text),) = told()
        self.assertEqual(nodes, list(NODES))
        self.assertRegex(text, "^by two copies through a segment; not by process_vm_readv: possible here, but took twice as long .*; "
                         "not by XPMEM: a neighbour that dies would end the process that reads its mapping")
        self.cluster.facts["n1"]["memory"] = {"way": "none", "why": "memfd_create: Operation not permitted"}
        self.cluster.facts["n2"]["memory"] = {"way": "copies", "why": "process 7 cannot be read"}
        self.cluster.facts["n3"]["memory"] = {"way": "copies", "why": "process 8 cannot be read"}
        self.assertEqual([nodes for nodes, _ in told()], [["n0"], ["n2", "n3"]])
        self.assertIn("; not by process_vm_readv: process 7 cannot be read; not by XPMEM: ", told()[1][1])

    def test_component(self):
        self.cluster.facts["n3"]["ompi"]["component_found"] = False
        self.one(check_component, "does not list coll/nezha on n3", ["n3"])
        (found,) = check_component.check(self.cluster)
        self.assertIn(f" {openmpi.COMPONENT_PATH.removeprefix('OMPI_MCA_')} ", found.do)

    def test_component_elsewhere(self):
        """Where only this command has Open MPI look."""
        self.cluster.facts["n1"]["ompi"].update(component_found=False, component_elsewhere="/opt/nezha/lib/openmpi")
        self.one(check_component, "jobs on n1 do not find coll/nezha: it is in /opt/nezha/lib/openmpi, ", ["n1"])
        (found,) = check_component.check(self.cluster)
        self.assertIn("--mca opal_mca_base_component_path /opt/nezha/lib/openmpi:SYS_DEFAULT:USER_DEFAULT", found.do)

    def test_switched_off(self):
        self.cluster.facts["n3"]["parameters"]["enable"] = "0"
        self.one(check_component, "coll_nezha_enable is 0 on n3", ["n3"])

    def test_a_rail_less(self):
        del self.cluster.facts["n1"]["rails"][1]
        self.cluster.facts["n1"]["left_out"].append({"name": "eth1", "reason": "no carrier"})
        self.one(check_rails, r"n1 has 1 of the 2 rails .* eth1 \(no carrier\)", ["n1"])

    def two(self):
        """Of two nodes one is left without a carrier on its second rail."""
        both = self.cluster
        both.probes = {node: {**both.probes[node], "links": [], "lanes": [
            row for row in both.probes[node]["lanes"] if row["peer"] in NODES[:2]]} for node in NODES[:2]}
        both.facts = {node: both.facts[node] for node in NODES[:2]}

    def unplug(self, *nodes):
        for node in nodes:
            del self.cluster.facts[node]["rails"][1]
            self.cluster.facts[node]["left_out"].append({"name": "eth1", "reason": "no carrier"})

    def test_a_rail_less_on_one_of_two_nodes(self):
        for node, other in (NODES[:2], NODES[1::-1]):
            self.cluster = sound()
            self.two()
            self.unplug(node)
            self.one(check_rails, rf"{node} has 1 of the 2 rails that {other} has; .* eth1 \(no carrier\)", [node])

    def test_a_rail_less_on_all_but_one(self):
        self.unplug("n0", "n1", "n3")
        found = list(check_rails.check(self.cluster))
        self.assertEqual([finding.nodes for finding in found], [["n0"], ["n1"], ["n3"]])

    def test_a_rail_more_is_no_problem(self):
        for node in ("n0", "n1", "n3"):
            del self.cluster.facts[node]["rails"][1]
        self.assertEqual(list(check_rails.check(self.cluster)), [])

    def aggregate(self, share="auto", **answer):
        for node in self.cluster.facts.values():
            node["aggregators"] = [{"name": "spare:4757", "node": "spare", "rails": list(RAILS), "lanes": 2, "over": list(RAILS), "us": 300,
                                    "service": "7", "upstream": "", "trouble": ""}]
            node["aggregator_share"] = share
        self.cluster.facts["n2"]["aggregators"][0].update(answer)

    def test_an_aggregator(self):
        self.aggregate()
        self.assertEqual(checks.findings(self.cluster), [])

    def test_an_aggregator_that_does_not_answer_one_node(self):
        self.aggregate(node="", rails=[], lanes=0, over=[], service="", trouble="connect: Connection refused")
        self.one(check_aggregators, "spare:4757 is of no use to a job with n2: connect: Connection refused", ["n2"])

    def test_an_aggregator_in_other_networks(self):
        self.aggregate(lanes=0, over=[])
        self.one(check_aggregators, r"with n2: no rail here is in a network of its rails \(tcp/eth0, tcp/eth1\)", ["n2"])

    def test_an_aggregator_in_one_of_two_networks(self):
        self.aggregate(lanes=1, over=["tcp/eth0"])
        self.one(check_aggregators, "n2 has 2 rails, but only 1 of them in networks of aggregator spare:4757 on spare", ["n2"], ADVICE)

    def over_eth1_alone(self):
        """The aggregator's own network: no node reaches another over it."""
        self.aggregate()
        for node, told in self.cluster.facts.items():
            told["aggregators"][0].update(rails=["tcp/eth0"], lanes=1, over=["tcp/eth1"])
            for peer in NODES:
                if peer != node:
                    lane(self.cluster, node, "tcp/eth1", peer).update(result="EHOSTUNREACH", large="", rtt_us=None)
            self.cluster.probes[node]["links"] = self.cluster.probes[node]["links"][:1]

    def test_a_network_of_the_aggregators_own(self):
        self.over_eth1_alone()
        self.one(check_aggregators, "tcp/eth1 leads to an aggregator and to no other node", NODES, ADVICE)

    def test_a_node_that_no_aggregator_answers_over_a_silent_network(self):
        self.over_eth1_alone()
        self.cluster.facts["n2"]["aggregators"][0].update(over=["tcp/eth0"])
        found = list(check_pairs.check(self.cluster))
        self.assertEqual([finding.nodes for finding in found], [["n2"]])

    def test_aggregators_of_one_tree(self):
        self.aggregate(name="rack2:4757", node="rack2", upstream="root:4757 on root")
        self.assertEqual(checks.findings(self.cluster), [])

    def test_aggregators_that_share_no_sums(self):
        self.aggregate(name="rack2:4757", node="rack2", service="8", upstream="root:4757 on root")
        self.one(check_aggregators, "place 1 of .* share no sums.*: spare:4757 on spare by n0, n1, n3; rack2:4757 on rack2 under root:4757 on "
                                    "root by n2", NODES)

    def test_an_aggregator_that_not_all_nodes_name(self):
        self.aggregate()
        self.cluster.facts["n3"]["aggregators"].clear()
        self.one(check_aggregators, "spare:4757 on spare by n0, n1, n2; none by n3", NODES)

    def test_an_aggregator_that_gets_nothing(self):
        self.aggregate(share="0")
        self.one(check_aggregators, "coll_nezha_aggregator_share is 0", NODES, ADVICE)

    def test_one_address_on_all_nodes(self):
        """As that of a bridge for containers; where it leads to is told once, and not as lanes that fail."""
        for node, told in self.cluster.facts.items():
            told["rails"][1].update(name="tcp/docker0", device="docker0", address="172.17.0.1", prefix=16)
            for row in self.cluster.probes[node]["lanes"]:
                if row["rail"] == "tcp/eth1":
                    row.update(rail="tcp/docker0", peer_rail="tcp/docker0", result="answered by this node itself", large="", rtt_us=None)
            self.cluster.probes[node]["links"] = self.cluster.probes[node]["links"][:1]
        self.one(check_addresses, r"n0, n1, n2, n3 have the same address 172.17.0.1 \(tcp/docker0\)", NODES)
        self.assertIn("coll_nezha_rail_exclude docker0", checks.findings(self.cluster)[0].do)

    def test_somebody_else_answers(self):
        fail(self.cluster, "n1", "tcp/eth0", "n2", there="answered by n3", back="ok")
        self.one(check_pairs, r"what n1 connects to is not n2 \(answered by n3\)", ["n1", "n2"])

    def test_no_rail(self):
        self.cluster.facts["n1"]["rails"] = []
        self.one(check_rails, "n1 has no rail", ["n1"])

    def test_rails_of_libfabric_alone(self):
        """They have no address that could be tried."""
        for node in self.cluster.facts.values():
            node["rails"] = [{"name": "ofi/tcp:eth0", "device": "", "address": "", "prefix": 0, "speed_mbps": 0, "pci": ""}]
        self.cluster.probes = {node: {"listen": {}, "lanes": [], "links": [], "neighbours": {}} for node in NODES}
        self.assertEqual(checks.findings(self.cluster), [])

    def test_no_such_rail(self):
        self.cluster.facts["n1"]["unknown"] = ["ib0"]
        self.one(check_rails, "ib0 is named as a rail and n1 has no such interface; there is eth0, eth1", ["n1"])

    def test_bad_parameter(self):
        self.cluster.facts["n1"]["trouble"] = [{"reason": "timeout takes a number"}]
        self.one(check_rails, "on n1: coll_nezha_timeout takes a number", ["n1"])

    def test_one_subnet(self):
        for entry in self.cluster.facts["n0"]["rails"]:
            entry["prefix"] = 8
        self.one(check_subnets, "eth0, eth1 are in one subnet on n0", ["n0"])

    def test_vlans_in_one_subnet(self):
        """Their names have dots, which separate the parts of a setting's."""
        facts = self.cluster.facts["n0"]
        for entry in facts["rails"]:
            facts["interfaces"][f"{entry['device']}.100"] = facts["interfaces"].pop(entry["device"])
            entry.update(device=f"{entry['device']}.100", prefix=8)
        found, = check_subnets.check(self.cluster)
        self.assertIn("sysctl -w net.ipv4.conf.eth0/100.arp_ignore=1 net.ipv4.conf.eth0/100.arp_announce=2; ", found.do)

    def test_one_subnet_where_each_keeps_to_itself(self):
        for number, entry in enumerate(self.cluster.facts["n0"]["rails"]):
            entry["prefix"] = 8
            self.cluster.facts["n0"]["interfaces"][entry["device"]]["settings"] = {
                f"net.ipv4.conf.eth{number}.arp_ignore": "1", f"net.ipv4.conf.eth{number}.arp_announce": "2"}
        self.assertEqual(checks.findings(self.cluster), [])

    def test_a_silent_port(self):
        for peer in ("n0", "n2", "n3"):
            fail(self.cluster, "n1", "tcp/eth1", peer)
            self.cluster.probes[peer]["neighbours"]["10.11.0.2"] = "00:00:00:00:00:00"
        self.one(check_pairs, "tcp/eth1 of n1 cannot be used .*n1 does not even answer ARP", ["n1"])

    def test_a_silent_port_of_a_neighbour_known_before(self):
        for peer in ("n0", "n2", "n3"):
            fail(self.cluster, "n1", "tcp/eth1", peer)
        self.one(check_pairs, "nothing gets through in either direction: its switch port, cable or VLAN", ["n1"])

    def test_a_firewall_that_drops(self):
        for peer in ("n0", "n2", "n3"):
            fail(self.cluster, "n1", "tcp/eth1", peer, there="ok")
        self.one(check_pairs, "tcp/eth1 of n1 .*a firewall on n1 drops connections that come in", ["n1"])

    def test_a_firewall_that_rejects(self):
        for peer in ("n0", "n2", "n3"):
            fail(self.cluster, "n1", "tcp/eth1", peer, there="ok", back="ECONNREFUSED")
        self.one(check_pairs, "a firewall on n1 rejects", ["n1"])

    def test_a_firewall_for_what_goes_out(self):
        fail(self.cluster, "n1", "tcp/eth0", "n2", there="EPERM", back="ok")
        self.one(check_pairs, "a firewall on n1 forbids connections that go out", ["n1", "n2"])

    def test_no_route(self):
        fail(self.cluster, "n1", "tcp/eth0", "n2", there="ENETUNREACH", back="timeout")
        self.one(check_pairs, "n1 has no route there", ["n1", "n2"])

    def test_a_wrong_neighbour(self):
        fail(self.cluster, "n0", "tcp/eth0", "n3")
        self.cluster.probes["n0"]["neighbours"]["10.10.0.4"] = mac(0, 0)
        self.one(check_pairs, "the lane n0 tcp/eth0 - n3 tcp/eth0 .*n0 sends to the wrong hardware address", ["n0", "n3"])

    def test_a_node_that_did_not_answer(self):
        for rail in RAILS:
            for peer in ("n0", "n1", "n2"):
                lane(self.cluster, peer, rail, "n3")["result"] = "timeout"
        del self.cluster.probes["n3"]
        found = list(check_pairs.check(self.cluster))
        self.assertEqual([finding.nodes for finding in found], [["n3"], ["n3"]])

    def test_no_common_kind_of_address(self):
        for node, probe in self.cluster.probes.items():
            probe["lanes"] = [row for row in probe["lanes"] if "n3" not in (node, row["peer"])]
        found = list(check_pairs.check(self.cluster))
        self.assertEqual([finding.nodes for finding in found], [[node, "n3"] for node in NODES[:3]])

    def test_mtu(self):
        self.cluster.facts["n2"]["interfaces"]["eth1"]["mtu"] = 1400
        self.one(check_mtu, "MTU of tcp/eth1 on n2 is 1400, that of tcp/eth1 on n. 1500", ["n2"])

    def test_large_packets_vanish(self):
        lane(self.cluster, "n0", "tcp/eth0", "n1")["large"] = "timeout"
        self.one(check_mtu, "from n0 over tcp/eth0 to n1 .* large packets do not get through", ["n0", "n1"])

    def test_a_node_that_sends_slowly(self):
        for node, row in ((node, row) for node, probe in self.cluster.probes.items() for row in probe["links"]):
            if row["rail"] == "tcp/eth1" and node == "n2":
                row["there"] = 12e6
            if row["rail"] == "tcp/eth1" and row["peer"] == "n2":
                row["back"] = 12e6
        self.one(check_speed, "n2 sends at 96 Mbit/s over tcp/eth1, the others at 944 Mbit/s", ["n2"])

    def test_two_nodes_uneven(self):
        cluster = Cluster({node: facts(number) for number, node in enumerate(NODES[:2])}, {"n0": copy.deepcopy(
            self.cluster.probes["n0"]), "n1": {"links": [], "lanes": [], "listen": {}, "neighbours": {}}})
        cluster.probes["n0"]["links"][0]["back"] = 20e6
        found = list(check_speed.check(cluster))
        self.assertEqual([finding.what for finding in found], ["tcp/eth0: 160 Mbit/s from n1 to n0, 944 Mbit/s the other way"])

    def test_processors(self):
        self.cluster.facts["n0"]["machine"]["ranks"] = 9
        self.one(check_processors, "n0: 9 ranks on 8 cores", ["n0"], ADVICE)

    def test_load(self):
        self.cluster.facts["n0"]["machine"].update(load=7.0, cores=4, ranks=4)
        self.assertEqual(checks.findings(self.cluster), [], "others than the job may use those that it may not")
        self.cluster.facts["n0"]["machine"]["load"] = 30.0
        self.one(check_processors, "a load of 30.0 on 8 cores", ["n0"], ADVICE)

    def test_numa(self):
        self.cluster.facts["n0"]["interfaces"]["eth1"]["numa"] = 1
        self.one(check_processors, r"different NUMA nodes \(eth0: 0, eth1: 1\)", ["n0"], ADVICE)

    def test_slow_start_after_idle(self):
        self.cluster.facts["n0"]["settings"]["net.ipv4.tcp_slow_start_after_idle"] = "1"
        self.one(check_kernel, "begin slowly again", ["n0"], ADVICE)

    def test_buffers(self):
        self.cluster.facts["n0"]["settings"]["net.ipv4.tcp_wmem"] = "4096 16384 65536"
        self.one(check_kernel, "tcp_wmem allows 64 KiB at most on n0", ["n0"], ADVICE)

    def test_congestion_control(self):
        self.cluster.facts["n0"]["settings"]["net.ipv4.tcp_congestion_control"] = "reno"
        self.one(check_kernel, "congestion control is reno on n0, cubic elsewhere", ["n0"])

    def test_no_window_scaling(self):
        self.cluster.facts["n0"]["settings"]["net.ipv4.tcp_window_scaling"] = "0"
        self.one(check_kernel, "tcp_window_scaling is 0 on n0", ["n0"])


class Matrix(unittest.TestCase):
    def test_each_pair_of_few_nodes(self):
        cluster = sound()
        lane(cluster, "n0", "tcp/eth1", "n2").update(result="timeout", rtt_us=None)
        tables = matrix.tables(cluster)
        self.assertEqual([title.partition(" in ")[0] for title, _, _ in tables],
                         [f"{rail}: {what}" for rail in RAILS for what in ("round trips", "rates")])
        self.assertEqual(tables[0][2][0], ("n0", "", "80", "80", "80"))
        self.assertEqual(tables[2][2][0], ("n0", "", "80", "timeout", "80"))
        # 118e6 bytes per second to the next one, 117e6 back
        self.assertEqual(tables[1][2], [("n0", "", "944", "", "936"), ("n1", "936", "", "944", ""), ("n2", "", "936", "", "944"),
                                        ("n3", "944", "", "936", "")])

    def test_many_nodes(self):
        cluster = sound()
        cluster.facts = {f"n{number}": cluster.facts["n0"] for number in range(matrix.MOST + 1)}
        ((_, _, rows),) = matrix.tables(cluster)
        self.assertEqual(rows, [(rail, "80 80 80", "936 940 944") for rail in RAILS])

    def test_one_node_has_none(self):
        self.assertEqual(matrix.tables(Cluster({"n0": facts(0)})), [])


class Probes(unittest.TestCase):
    """Two processes of the probe, whose rails are addresses of the loopback interface."""

    def row_of(self, answering, asked):
        """What node "a" finds where `answering` listens at what it takes for the address of "asked"."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        rails = {name: [{"name": "tcp/lo", "device": "lo", "address": "127.0.0.1", "prefix": 8}] for name in ("a", "b", "c")}
        plan = {"port": port, "rails": rails}
        listeners, errors = Probe(plan, answering)._listen()
        self.assertEqual(errors, {})
        try:
            return Probe(plan, "a")._try(Lane("tcp/lo", asked, "tcp/lo"))
        finally:
            for listener in listeners:
                listener.shutdown(socket.SHUT_RDWR)
                listener.close()

    def test_who_answers_counts(self):
        right = self.row_of("b", "b")
        self.assertEqual((right["result"], right["large"]), ("ok", "ok"))
        self.assertEqual(self.row_of("a", "b")["result"], "answered by this node itself")
        self.assertEqual(self.row_of("c", "b")["result"], "answered by c")


class Phases(unittest.TestCase):
    def test_no_node_has_two_links_at_a_time(self):
        for count in range(2, 12):
            for phase in range(3):
                busy = [node for index in range(count if count > 2 else 1) if phase_of(index, count) == phase
                        for node in (index, (index + 1) % count)]
                self.assertEqual(len(busy), len(set(busy)), (count, phase))


def packed_text(text):
    return base64.b64encode(lzma.compress(text), b"._").decode()


class Plans(unittest.TestCase):
    """What the doctor tells each node by the words of a command line."""

    def refused(self, words, pattern):
        with self.assertRaisesRegex(CommandError, pattern):
            packed.unpack(words)

    def test_a_plan_of_16384_nodes_fits(self):
        """Of four rails each, with addresses in no order; /bin/true is started as a launcher starts nezha."""
        byte = functools.partial(random.Random(1).randrange, 256)
        plan = {"port": 20000, "rails": {f"rack{node >> 5}-node{node:05}.cluster": [
            {"name": f"tcp/ens{rail}f0", "device": f"ens{rail}f0", "address": f"10.{rail}.{byte()}.{byte()}", "prefix": 16,
             "speed_mbps": 100000} for rail in range(4)] for node in range(16384)}}
        words = packed.pack(plan)
        self.assertEqual(subprocess.run(["/bin/true", *words], check=False).returncode, 0)
        self.assertLess(sum(map(len, words)), 1 << 20)  # half of what all words together may have
        self.assertFalse([word for word in words if not word.replace(".", "").replace("_", "").replace("=", "").isalnum()])
        self.assertEqual(packed.unpack(words), plan)

    def test_what_is_no_plan(self):
        words = packed.pack({"port": 1, "rails": {}})
        self.refused(["{}"], r"^'\{\}' is nothing that nezha has packed")
        self.refused(["A" * 40], "^'A{20}...' is nothing that nezha has packed")
        self.refused([], "^'', 0 words, is cut off")
        self.refused([words[0][:-8]], "is cut off or has something behind it")
        self.refused([packed_text(b"{")], "holds no JSON")
        self.refused([packed_text(bytes(packed._MOST + 1))], f"unpacks to more than the {packed._MOST} bytes that are allowed")


if __name__ == "__main__":
    unittest.main()
