#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# sanitizers: address undefined
"""Parameters: what ompi_info says of them, bad ones, ones that differ between ranks, ones that turn Nezha off."""

import os
import re
import socket
import subprocess
import tempfile
import unittest

from mpi_case import RAILS, MpiCase, environment, mpirun, plain, preloaded, program
from nezha_lab import openmpi

WAIT = "20"  # seconds that rails may take to come up on a busy machine


def free_port():
    """One that nobody listens on just now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Parameters(MpiCase):
    def carried(self, done):
        self.assertEqual(len(self.counters(done)["rail_bytes_sent"]), 2)
        self.assertGreater(self.counters(done)["least"][0], 0)

    def test_counters(self):
        done = self.passes("counters", 3, "100", WAIT)
        values = self.counters(done)
        self.carried(done)
        self.assertGreaterEqual(values["calls"][0], 100)
        self.assertGreater(values["bytes"][0], 100 * 4)
        for name in ("bytes_sent", "bytes_received", "frames_sent", "frames_received", "busy", "share"):
            self.assertEqual([value > 0 for value in values[f"rail_{name}"]], [True, True], name)
        self.assertAlmostEqual(sum(values["rail_share"]), 65536, delta=4)
        for name in ("retransmissions", "suspicions", "failovers", "reconnections"):
            self.assertEqual(len(values[f"rail_{name}"]), 2, name)

    def test_counters_bound_before_mpi_init(self):
        self.passes("early_tool", 2)

    def test_report(self):
        done = self.passes("counters", 3, "100", WAIT, params={**RAILS, "coll_nezha_report": "1"})
        self.assertEqual(done.stderr.count("Nezha's report: 3 ranks"), 1)
        for words in ("rail", "rank 0", "least", "most"):
            self.assertRegex(done.stderr, rf"(?m)^ .*\b{words}\b")
        number = r"\d+(\.\d+)?"
        self.assertEqual(len(re.findall(rf"(?m)^  tcp/lo[01] +rank 0( +{number}){{10}}$", done.stderr)), 2, done.stderr)
        self.assertRegex(done.stderr, rf"(?m)^  from +1 MiB( +{number}){{4}}$")

    def test_report_names_the_rank_that_others_wait_for(self):
        """It comes late to each call, and so spends the least time in them."""
        wrapper = self.wrapper('export OMPI_MCA_coll_nezha_report=1\n[ "$PMIX_RANK" != 1 ] || export NEZHA_TEST_LATE_MS=10')
        done = self.passes_wrapped(wrapper)
        rows = re.findall(r"(?m)^  from +1 MiB +3 +[\d.]+ +(\d+) +[\d.]+ +[\d.]+ +(\d+)$", done.stderr)
        self.assertEqual([least for least, _ in rows], ["1"], done.stderr)

    def test_report_of_two_ranks(self):
        """The median of an even number is between the two in the middle."""
        wrapper = self.wrapper('export OMPI_MCA_coll_nezha_report=1\n[ "$PMIX_RANK" != 1 ] || export NEZHA_TEST_LATE_MS=10')
        done = self.passes_wrapped(wrapper, ranks=2)
        (row,) = re.findall(r"(?m)^  from +1 MiB +2 +([\d.]+) +\d+ +([\d.]+) +([\d.]+) +\d+$", done.stderr)
        least, median, most = map(float, row)
        self.assertGreater(most - least, 0.01)
        self.assertAlmostEqual(median, (least + most) / 2, places=5)

    def test_report_when_rank_0_alone_wants_it(self):
        wrapper = self.wrapper('[ "$PMIX_RANK" != 0 ] || export OMPI_MCA_coll_nezha_report=1')
        done = self.passes_wrapped(wrapper)
        self.assertEqual(done.stderr.count("Nezha's report"), 1)

    def test_report_when_rank_0_alone_does_not_want_it(self):
        wrapper = self.wrapper('[ "$PMIX_RANK" = 0 ] || export OMPI_MCA_coll_nezha_report=1')
        done = self.passes_wrapped(wrapper)
        self.assertNotIn("Nezha's report", done.stderr)

    def test_report_of_nothing(self):
        """The one line says why there are no tables, or why there is nothing in them."""
        port = free_port()
        here = {"coll_nezha_single_node": "0"}
        for params, np, words in ((here, 2, "all ranks are on one node, whose memory they share"),
                                  ({**here, "coll_nezha_shared_memory": "0"}, 2, "all ranks are on one node, where Open MPI's own"),
                                  ({}, 1, "the job has one rank only"),
                                  ({"coll_nezha_priority": "1"}, 2, "a component of higher priority"),
                                  ({"coll_nezha_priority": "20"}, 2, "a component of higher priority carries allreduce .see"),
                                  ({"coll_nezha_algorithm": "incumbent"}, 2, "all were left to Open MPI's own allreduce"),
                                  ({"coll_nezha_port_range": f"{port}-{port}"}, 2, r"(a rank has no usable rail|all ports from \d+)")):
            with self.subTest(words):
                done = self.passes("counters", np, "10", "1", params={**RAILS, **params, "coll_nezha_report": "1"})
                self.assertEqual(done.stderr.count(f"Nezha's report: {np} ranks"), 1, done.stderr)
                self.assertEqual(len(re.findall(f"(?m)^  Rails carried no call: {words}", done.stderr)), 1, done.stderr)

    def test_report_beside_a_rank_without_it(self):
        wrapper = self.wrapper('export OMPI_MCA_coll_nezha_report=1\n[ "$PMIX_RANK" != 1 ] || export OMPI_MCA_coll_nezha_enable=0')
        self.assertIn("Rails carried no call: not all ranks use Nezha", self.passes_wrapped(wrapper, patience="1").stderr)

    def passes_wrapped(self, wrapper, patience=WAIT, ranks=3):
        done = mpirun([wrapper, program("counters"), "100", patience], ranks)
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
        return done

    def test_off(self):
        for off in ({"coll_nezha_enable": "0"}, {"coll": "^nezha"}, {"coll_nezha_algorithm": "incumbent"}):
            with self.subTest(off):
                done = self.passes("counters", 3, "50", params={**RAILS, **off})
                self.nothing_carried(done)
                self.assertNotIn("nezha", done.stderr.lower())

    def test_a_file_of_another_system(self):
        """Its lines end with a carriage return, too, which is part of the value."""
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(os.path.join(place, ".openmpi"))
            with open(os.path.join(place, ".openmpi", "mca-params.conf"), "w", newline="\r\n", encoding="ascii") as file:
                file.write("coll_nezha_enable = 0\n")
            done = self.passes("counters", 3, "50", env={"HOME": place})
        self.nothing_carried(done)
        self.assertNotIn("nezha", done.stderr.lower())

    def test_priority_below_others(self):
        self.nothing_carried(self.passes("counters", 3, "50", params={**RAILS, "coll_nezha_priority": "1"}))

    def test_threshold(self):
        # The small calls with which the program waits for rails are never carried: it waits to the end.
        done = self.passes("counters", 3, "100", "5", params={**RAILS, "coll_nezha_threshold": "100k"})
        values = self.counters(done)
        self.assertGreater(values["calls"][0], 0)
        self.assertLessEqual(values["calls"][0], 50)
        self.assertGreaterEqual(values["bytes"][0], values["calls"][0] * 100 * 1024)

    def test_bad_values(self):
        for name, value, used in (("timeout", "soon", "60"), ("algorithm", "rings", "auto"), ("threshold", "-1", "0"),
                                  ("priority", "1000", "95"), ("port_range", "9-2", "0"), ("rail_cores", "lo0=3-2", "(empty)"), ("report", "maybe", "0")):
            with self.subTest(name):
                done = self.says(
                    rf"Parameter: coll_nezha_{name} Value: {value} Reason: .+ Used: {re.escape(used)} ",
                    lambda: self.passes("counters", 2, "100", WAIT, params={**RAILS, f"coll_nezha_{name}": value}))
                self.carried(done)

    def test_a_list_of_open_mpis_own_that_cannot_be_read(self):
        """Of those to include, Open MPI itself drops such words."""
        done = self.says(r"interfaces that Open MPI.s TCP was given.+Parameter: btl_tcp_if_exclude Value: a/b/c Reason: rail_exclude: ",
                         lambda: self.passes("counters", 2, "100", WAIT, params={**RAILS, "btl_tcp_if_exclude": "a/b/c"}))
        self.carried(done)

    def test_unknown_names(self):
        done = self.says(r"no parameter of these names.* coll_nezha_raill_include, set in the environment or by --mca; "
                         r"did you mean coll_nezha_rail_include\? \"ompi_info",
                         lambda: self.passes("counters", 2, "100", WAIT, params={**RAILS, "coll_nezha_raill_include": "eth0"}))
        self.carried(done)
        # 5.0 shows a text twice where it is told not to gather those of all ranks, as it is here.
        self.assertLessEqual(done.stderr.count("raill_include"), 1 if openmpi.major() < 5 else 2, done.stderr)
        self.says(r"coll_nezha_bandwidth, set in the environment or by --mca \"ompi_info", lambda: mpirun(
            ["--mca", "coll_nezha_bandwidth", "7", program("counters"), "4"], 2))

    def test_unknown_names_in_files(self):
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(os.path.join(place, ".openmpi"))
            own = os.path.join(place, ".openmpi", "mca-params.conf")
            with open(own, "w") as file:
                file.write("# coll_nezha_comment = 1\ncoll_nezha_reprot = 1\n  coll_nezha_treshold=3\ncoll_nezha_learn = 0\n"
                           "coll_tuned_of_others = 1\n")
            tune = os.path.join(place, "tune")
            with open(tune, "w") as file:
                file.write("-mca coll_nezha_chunks 4096 -mca coll_nezha_learn 0\n" if openmpi.major() < 5 else
                           "--mca coll_nezha_chunks 4096\n--mca coll_nezha_learn 0\n")
            # 4.1 leaves it to each rank to read them, 5.0 hands on what is in them.
            where, there = (rf"({path}|the environment or by --mca)" if openmpi.major() >= 5 else path for path in (tune, own))
            words = (rf"coll_nezha_reprot, set in {there}; did you mean coll_nezha_report\? ", rf"coll_nezha_chunks, set in {where}; did you mean coll_nezha_chunk\? ",
                     rf"coll_nezha_treshold, set in {there}; did you mean coll_nezha_threshold\? ")
            done = self.says("".join(f"(?=.*{each})" for each in words), lambda: mpirun(
                ["--tune", tune, program("counters"), "4"], 2, env={"HOME": place}))
            self.assertNotIn("comment", done.stderr)
            self.assertNotIn("of_others", done.stderr)

    def test_no_such_share(self):
        done = self.says(r"names a rail that this node does not have.*Named: eth99 .*lo0, lo1", lambda: self.passes(
            "counters", 2, "100", WAIT, params={**RAILS, "coll_nezha_share": "lo0:2,eth99:1"}))
        self.carried(done)

    def test_a_thread_per_rail(self):
        done = self.passes("counters", 3, "100", WAIT, params={**RAILS, "coll_nezha_rail_threads": "1", "coll_nezha_verbose": "2"})
        self.carried(done)
        self.assertEqual(len(re.findall(r"rail tcp/lo[01]: its worker is bound to cores \d", done.stderr)), 2 * 3, done.stderr)
        self.passes("every_operation", 3, params={**RAILS, "coll_nezha_rail_threads": "1"})

    def test_cores_outside_the_cpuset(self):
        core = min(os.sched_getaffinity(0))
        params = {**RAILS, "coll_nezha_rail_threads": "auto", "coll_nezha_rail_cores": f"lo0=8000;lo1={core}", "coll_nezha_verbose": "2"}
        done = self.says(r"cores that its process may not use.*Rail: lo0 Node: \S+ List: 8000 Allowed: [\d,-]+ "
                         "Instead: no thread for this rail", lambda: self.passes("counters", 2, "100", WAIT, params=params))
        self.carried(done)
        self.assertRegex(done.stderr, rf"rail tcp/lo1: its worker is bound to cores {core}\b")
        self.assertNotIn("rail tcp/lo0: its worker", done.stderr)

    def test_cores_of_no_rail(self):
        done = self.says("coll_nezha_rail_cores names a rail that this node does not have.*Named: eth99 .*lo0, lo1",
                         lambda: self.passes("counters", 2, "100", WAIT, params={**RAILS, "coll_nezha_rail_threads": "auto", "coll_nezha_rail_cores": "eth99=0"}))
        self.carried(done)

    def test_decided_by_rank_0(self):
        """Rank 1 wants another algorithm: a text says so, and rank 0's choice, the incumbent or the rails, is taken."""
        for first, other, carried in (("incumbent", "ring", False), ("ring", "incumbent", True)):
            with self.subTest(first):
                wrapper = self.wrapper(f'if [ "$PMIX_RANK" = 1 ]; then export OMPI_MCA_coll_nezha_algorithm={other}; '
                                       f'else export OMPI_MCA_coll_nezha_algorithm={first}; fi')
                done = self.says(r"other values than rank 0.*Communicator: MPI_COMM_WORLD Rank: 1 on \S+ \(rank 0: on \S+\) "
                                 f"coll_nezha_algorithm: {other}, rank 0 has {first} Files",
                                 lambda: self.passes_wrapped(wrapper, patience=WAIT if carried else "5"))
                self.assertEqual(self.counters(done)["calls"][0] > 0, carried)

    def test_rank_0_alone_has_the_first_call_wait(self):
        """Rank 0's wish for equal bits in every run holds from the first call on, on ranks that were given another one."""
        for name, value in (("reproducible", "1"), ("algorithm", "ring")):
            with self.subTest(name):
                wrapper = self.wrapper(f'[ "$PMIX_RANK" != 0 ] || export OMPI_MCA_coll_nezha_{name}={value}\n'
                                       f'export OMPI_MCA_coll_nezha_connect_timeout={WAIT}')
                done = mpirun([wrapper, program("counters"), "8"], 3)
                self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
                self.assertEqual(self.counters(done)["least"], [8])

    def test_single_node_on_some_ranks_only(self):
        wrapper = self.wrapper('[ "$PMIX_RANK" != 1 ] || export OMPI_MCA_coll_nezha_single_node=0')
        self.nothing_carried(self.passes_wrapped(wrapper, patience="1"))

    def test_component_on_some_ranks_only(self):
        wrapper = self.wrapper('[ "$PMIX_RANK" != 1 ] || export OMPI_MCA_coll_nezha_enable=0')
        self.nothing_carried(self.passes_wrapped(wrapper, patience="1"))

    def test_fewer_ports_than_ranks(self):
        port = free_port()
        done = self.says(rf"Reason: all ports from {port} to {port} are taken.* it has 1 port for the 2 ranks of this node",
                         lambda: self.passes("counters", 2, "20", "1", params={**RAILS, "coll_nezha_port_range": f"{port}-{port}"}))
        self.nothing_carried(done)
        self.assertNotIn("cannot reach each other", plain(done.stderr))

    def test_other_release(self):
        library = preloaded("other_release")
        done = self.says(r"Nezha was built for Open MPI \d+\.\d+\.\d+ and has been loaded by another one: Open MPI v\d+\.\d+\.99",
                         lambda: self.passes("counters", 2, "20", preload=[library]))
        self.nothing_carried(done)


@unittest.skipIf(os.environ.get("NEZHA_PRELOAD"), "ompi_info is not built with the sanitizer")
class Info(MpiCase):
    def info(self, *options):
        return subprocess.run(["ompi_info", *options], capture_output=True, text=True, check=True,
                              env=environment({}, True)).stdout

    def test_listed(self):
        self.assertRegex(self.info(), r"MCA coll: nezha \(MCA v[\d.]+, API v[\d.]+, Component v0\.\d+\.\d+\)")

    def test_every_parameter_is_explained(self):
        text = plain(self.info("--param", "coll", "nezha", "--level", "9"))
        for name, kind in (("enable", "0 or 1; default: 1"), ("priority", "integer, 0 to 100; default: 95"),
                           ("threshold", "bytes, 0 to "), ("algorithm", "one of auto|ring|mesh|"),
                           ("rail_include", "text: [KIND/]NAME|ADDRESS/BITS,...; default: empty")):
            self.assertRegex(text, rf'parameter "coll_nezha_{name}" \(current value: [^)]*level: \d [^)]*\)[^"]*'
                             + re.escape(kind), name)

    def test_levels(self):
        basic = self.info("--param", "coll", "nezha", "--level", "1")
        self.assertIn("coll_nezha_rail_include", basic)
        self.assertNotIn("coll_nezha_window", basic)


if __name__ == "__main__":
    unittest.main()
