# SPDX-License-Identifier: BSD-3-Clause
"""nezha tune: what it measured is in the file, what was there about others stays, and a job begins with it."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from bench_case import BUILD, TOP, program
from command_case import CommandCase, kept_in, plain
from lab_case import PYTHON_DIR, make_lab

from nezha_command import cli, file_lock, installed, table_file, tune
from nezha_command.errors import CommandError
from nezha_command.sweep import Sweep, Way

LEARNED = os.path.join(TOP, "test", "tables", "learned.json")
SHORT = ("--rounds", "1", "--time", "0.05")
WHERE = ("--", "-np", "2", "--host", "n0:1,n1:1")
ON_LAB = {"OMPI_MCA_coll_nezha_rail_include": "eth0,eth1", "OMPI_MCA_btl_tcp_if_include": "mgmt"}
MESH, RING = Way("mesh"), Way("ring", 65536)


def shapes(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["collectives"]["allreduce"]


class File(CommandCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.path = os.path.join(directory.name, "table.json")
        installed.LIBEXEC = os.path.join(BUILD, "install", "libexec", "nezha")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_made(self):
        table_file.add(self.path, 4, 2, {1024: [(MESH, 1e-4), (RING, 2e-4)], 4096: [(RING, 3e-4)]})
        (shape,) = shapes(self.path)
        self.assertEqual((shape["comm_size_min"], shape["comm_size_max"], shape["comm_nodes_max"]), (4, 4, 2))
        self.assertEqual(shape["rules"][0], {"msg_size_min": 1024, "msg_size_max": 2047, "alg": "mesh", "measured": [
            {"alg": "mesh", "time_ns": 100000}, {"alg": "ring", "chunk": 65536, "time_ns": 200000}]})
        self.assertEqual(os.listdir(self.directory), ["table.json"])
        self.assertIn("4K ring in chunks of 64k 300.0 us", plain(self.nezha("table", "show", self.path)))

    def test_others_stay(self):
        with open(LEARNED, encoding="utf-8") as file:
            self.write(file.read())
        before = shapes(self.path)
        table_file.add(self.path, 7, 7, {1 << 20: [(MESH, 1e-3)]})
        own, *after = [shape for shape in shapes(self.path) if shape not in before], *before
        self.assertEqual(after, before)
        # 5 and more ranks were a ring from 1 MiB on: seven keep that, but for what was measured.
        self.assertEqual([(rule["msg_size_min"], rule.get("msg_size_max", "inf"), rule["alg"]) for rule in own[0]["rules"]],
                         [(1 << 20, (2 << 20) - 1, "mesh"), (1 << 20, "inf", "ring")])
        table_file.add(self.path, 7, 7, {1 << 20: [(RING, 1e-3)]})
        self.assertEqual([rule["alg"] for rule in shapes(self.path)[1]["rules"]], ["ring", "ring"])

    def test_two_that_add_at_once(self):
        """Each waits until the other is done: the rows of both are there."""
        adds = (f"import sys; from nezha_command import installed, table_file; from nezha_command.sweep import Way\n"
                f"installed.LIBEXEC = {installed.LIBEXEC!r}\nranks = int(sys.argv[1])\n"
                f"for size in range(6): table_file.add({self.path!r}, ranks, ranks, {{1 << size: [(Way('mesh'), 1e-4)]}})")
        env = {**os.environ, "PYTHONPATH": PYTHON_DIR}
        both = [subprocess.Popen([sys.executable, "-c", adds, ranks], env=env) for ranks in ("2", "3")]
        self.assertEqual([each.wait(60) for each in both], [0, 0])
        self.assertEqual([len(shape["rules"]) for shape in shapes(self.path)], [6, 6])
        self.assertEqual(os.listdir(self.directory), ["table.json"])

    def test_a_lock_that_stays_taken(self):
        with (file_lock.alone_with(self.path), mock.patch.object(file_lock, "_PATIENCE", 0.1),
              self.assertRaisesRegex(CommandError, "another process has .*/table.json.lock, for 0.1 s now")):
            table_file.check(self.path)
        table_file.check(self.path)
        with self.assertRaisesRegex(CommandError, "/table.json.lock cannot be made: No such file or directory"):
            table_file.check("/nowhere/table.json")

    def test_what_is_no_table_is_not_touched(self):
        self.write('{"module": "tuned"}')
        with kept_in(self.directory) as kept, contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertFalse(table_file.add(self.path, 2, 2, {1024: [(MESH, 1e-4)]}))
            self.assertIn('"time_ns": 100000', kept())
        self.assertIn("is no table, and stays as it is", said.getvalue())
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), '{"module": "tuned"}')

    def test_what_is_no_table_is_told_before_anything_is_measured(self):
        self.write('{"module": "tuned"}')
        options = cli.build_parser().parse_args(["tune", self.path])
        options.mpirun = []
        with (mock.patch("nezha_command.sweep.Sweep") as measured, mock.patch("nezha_command.cluster.Cluster"),
              self.assertRaisesRegex(CommandError, "is no table, and stays as it is")):
            tune.run(options)
        measured.assert_not_called()

    def test_what_would_be_refused_is_not_written(self):
        with kept_in(self.directory) as kept, contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertFalse(table_file.add(self.path, 2, 2, {1024: [(Way("rings"), 1e-4)]}))
            self.assertIn('"rings"', kept())
        self.assertIn("stays as it is, for the component would refuse", said.getvalue())
        self.assertFalse(os.path.exists(self.path))

    def test_what_is_far_behind_is_left_out(self):
        times = {MESH: iter([1.0, 3.0, 3.0]), RING: iter([1.4, 1.0, 1.0]), Way("halving"): iter([1.6])}
        sweep = Sweep(None, times, [65536], 0.1, ())
        sweep._launch = lambda way, sizes: sweep.times[65536][way].append(next(times[way]))
        sweep.run(3, lambda text: None)
        self.assertEqual(sweep.results()[65536], [(RING, 1.0), (Way("halving"), 1.6), (MESH, 3.0)])

    def test_one_rail_is_measured_after_all_and_not_where_these_are_far_behind(self):
        ways = [Way("ring", rail="tcp/eth1"), Way("halving", rail="tcp/eth1"), RING, Way("ring"), Way("halving")]
        seconds = {("ring", ""): 1.0, ("halving", ""): 1.6, ("ring", "tcp/eth1"): 0.5}
        sweep, launched = Sweep(None, ways, [65536], 0.1, ()), []

        def launch(way, sizes):
            launched.append(way)
            sweep.times[65536][way].append(seconds[way.algorithm, way.rail])

        sweep._launch = launch
        sweep.run(1, lambda text: None)
        self.assertEqual(launched, [RING, Way("ring"), Way("halving"), Way("ring", rail="tcp/eth1")])

    def test_one_rail_is_kept_where_it_is_clearly_faster(self):
        alone = Way("ring", rail="tcp/eth1")
        for seconds, chosen in ((0.98, RING), (0.9, alone)):
            sweep = Sweep(None, [MESH, RING, alone], [65536], 0.1, ())
            sweep.times[65536] = {MESH: [2.0], RING: [1.0], alone: [seconds]}
            ((first, _), *others) = sweep.results()[65536]
            self.assertEqual(first, chosen)
            self.assertEqual([way for way, _ in others], [alone if first is RING else RING, MESH])

    def test_one_rail_in_the_file(self):
        alone = Way("ring", 65536, "tcp/eth1")
        self.assertIn(("coll_nezha_share", "eth1:1"), alone.parameters())
        self.assertEqual(alone.text(), "ring on tcp/eth1 in chunks of 64k")
        table_file.add(self.path, 4, 2, {1024: [(MESH, 1e-4), (alone, 2e-4)]})
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["rule_file_version"], 2)
        (rule,) = shapes(self.path)[0]["rules"]
        self.assertEqual(rule["measured"][1], {"alg": "ring", "rails": ["tcp/eth1"], "chunk": 65536, "time_ns": 200000})
        self.assertIn(f"mesh 100.0 us {alone.text()}", plain(self.nezha("table", "show", self.path)))

    def test_each_rail_alone_unless_ways_are_given(self):
        parse = cli.build_parser().parse_args
        ways = [Way("ring"), Way("incumbent")]
        usual = parse(["tune", self.path])
        self.assertEqual(tune._by_rail(ways, ["tcp/a", "tcp/b"], usual), [*ways, Way("ring", rail="tcp/a"), Way("ring", rail="tcp/b")])
        self.assertEqual(tune._by_rail(ways, ["tcp/a"], usual), ways)
        fixed = parse(["tune", self.path, "--mca", "coll_nezha_share", "a:1"])
        self.assertEqual(tune._by_rail(ways, ["tcp/a", "tcp/b"], fixed), ways)
        given = parse(["tune", self.path, "--ways", "ring"])
        self.assertEqual(tune._by_rail(ways, ["tcp/a", "tcp/b"], given), ways)

    def test_sizes_that_a_way_cannot_carry(self):
        self.assertTrue(Way("doubling").carries(16384))
        self.assertFalse(Way("doubling").carries(32768))
        self.assertTrue(Way("ring").carries(1 << 30))


class Tune(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = program("nezha_allreduce_bench")
        cls.lab = make_lab(cls, nodes=2, rails=["200mbit", "200mbit"])

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "table.json")

    def tune(self, *arguments, **options):
        return self.nezha_in(self.lab, "tune", *arguments, self.path, *WHERE, env=ON_LAB, **options)

    def test_swept(self):
        text = self.tune("--sizes", "1K,256K", "--ways", "doubling,mesh,ring,incumbent", *SHORT)
        (shape,) = shapes(self.path)
        self.assertEqual([shape[key] for key in ("comm_size_min", "comm_size_max", "comm_nodes_min", "comm_nodes_max")], [2] * 4)
        small, large = shape["rules"]
        self.assertEqual(len(small["measured"]), 4)
        self.assertEqual({entry["alg"] for entry in large["measured"]}, {"mesh", "ring", "incumbent"})
        for rule in (small, large):
            times = [entry["time_ns"] for entry in rule["measured"]]
            self.assertEqual((rule["alg"], times), (rule["measured"][0]["alg"], sorted(times)))
        self.assertIn("2 ranks on 2 nodes", text)
        self.assertEqual(text, self.nezha("table", "show", self.path))

    def test_a_job_begins_with_it(self):
        """Without a table 1 MiB takes the ring."""
        for learn, calls in self.calls_by("mesh:32k"):
            self.assertEqual([call["way"] for call in calls], ["mesh in chunks of 32k"] * 20, f"learn {learn}")

    def test_a_job_keeps_to_the_rail_that_was_measured(self):
        for learn, calls in self.calls_by("ring@tcp/eth1"):
            self.assertEqual([call["way"] for call in calls], ["ring on tcp/eth1"] * 20, f"learn {learn}")
            sent = [sum(call["sent"][rail] for call in calls) for rail in (0, 1)]
            self.assertGreaterEqual(sum(sent), 20 << 20, f"learn {learn}")
            self.assertLess(sent[0], sum(sent) / 20, f"learn {learn}: a little, where a busy machine has a rail suspected")

    def calls_by(self, way):
        """Tunes 1 MiB with this way only. Then, without learning and with: (learn, a job's first 20 calls of that size)."""
        self.tune("--sizes", "1M", "--ways", way, *SHORT)
        trace = os.path.join(os.path.dirname(self.path), "trace")
        for learn in ("0", "1"):
            self.nezha_runs("-s", "1M", "-x", "0", "-i", "20", coll_nezha_table=self.path, coll_nezha_learn=learn, coll_nezha_trace=trace)
            with open(trace, encoding="utf-8") as file:
                yield learn, [line for line in map(json.loads, file) if line["kind"] == "call" and line["bytes"] == 1 << 20]

    def nezha_runs(self, *arguments, **parameters):
        settings = [word for name, value in parameters.items() for word in ("--mca", name, value)]
        done = self.lab.mpirun([*settings, self.program, *arguments], component_dir=os.path.join(BUILD, "component"), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_job_that_fails_leaves_the_file(self):
        self.nezha_in(self.lab, "tune", *SHORT, self.path, "--", "-np", "2", "--host", "no-such-node:2", status=3)
        self.assertFalse(os.path.exists(self.path))

    def test_rails_that_carry_nothing(self):
        self.tune("--sizes", "1K", "--mca", "coll_nezha_rail_include", "eth99", *SHORT, status=3)
        self.assertFalse(os.path.exists(self.path))

    def test_wrong_arguments(self):
        for words in (("--sizes", "3000"), ("--ways", "rings"), ("--ways", "doubling:64k"), ("--ways", "ring:1m"), ("--ways", "ring@"), ("--ways", "incumbent@tcp/eth1"), ("--ways", "ring@tcp/eth7"), ("--rounds", "0"),
                      ("--time", "0"), ("--sizes", "1M", "--ways", "doubling")):
            with self.subTest(words=words):
                self.tune(*words, status=2)
        self.nezha("tune", status=2)


if __name__ == "__main__":
    unittest.main()
