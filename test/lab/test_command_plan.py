# SPDX-License-Identifier: BSD-3-Clause
"""nezha plan: descriptions and what is wrong with them, what it prints and writes; needs no lab."""

import builtins
import io
import json
import os
import re
import resource
import tempfile
import time
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from bench_case import TOP
from command_case import CommandCase, plain
from documents import manual_example, read

from nezha_command import cli
from nezha_papers import limits
from nezha_plan import answers, description, observations
from nezha_plan.errors import PlanError

LEARNED, BENCH = (os.path.join(TOP, "test", "tables", name) for name in ("learned.json", "bench.json"))
SMALL = {"nodes": 4, "rails": [{"name": "tcp/eth0", "rate": "25gbit"}, {"name": "tcp/eth1", "rate": "25gbit"}], "cpu": {"rail_threads": True}}


def run(*words):
    """(status, standard output, standard error) of the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = cli.main(["plan", *words])
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), err.getvalue()


class Place(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = directory.name

    def path(self, name):
        return os.path.join(self.place, name)

    def file(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)


class Descriptions(Place):
    def complaint(self, changed):
        with self.assertRaises(PlanError) as found:
            description.cluster({**SMALL, **changed})
        return str(found.exception)

    def test_what_is_wrong_is_named(self):
        rail, level = SMALL["rails"][0], {"kind": "fat_tree", "levels": [{"nodes": 8}, {"nodes": 8}]}
        for changed, said in (
                ({"node": 4}, "node: there is no such field; nodes, ranks_per_node, rails, "),
                ({"nodes": 1}, "nodes: 1: a whole number from 2 to 1048576 is allowed"),
                ({"nodes": "4"}, "nodes: '4': a whole number"),
                ({"nodes": True}, "nodes: True: a whole number"),
                ({"rails": []}, "rails: a list of 1 to 16 entries is allowed, not []"),
                ({"rails": {"rate": "1gbit"}}, "rails: a list of 1 to 16 entries"),
                ({"rails": ["eth0"]}, "rails[0]: fields with values are allowed, not 'eth0'"),
                ({"rails": [rail, {}]}, "rails[1].rate is missing"),
                ({"rails": [{"rate": 25}]}, "rails[0].rate: 25: a rate of 1B/s to 1000TB/s with its unit is allowed, as 25gbit, 200mbit or 3GB/s"),
                ({"rails": [{"rate": "25 gb"}]}, "rails[0].rate: '25 gb': a rate"),
                ({"rails": [{"rate": "0gbit"}]}, "rails[0].rate: '0gbit': a rate"),
                ({"rails": [{"rate": 400 * "9" + "s"}]}, "9...: a rate of"), ({"rails": [{"rate": "." + 300 * "0" + "1gbit"}]}, "0...: a rate of"),
                ({"rails": [{**rail, "payload": 1e-310}]}, "rails[0].payload: 1e-310: a number from 0.01 on and up to 1 is allowed"),
                ({"rails": [{**rail, "latency": "2000s"}]}, "rails[0].latency: '2000s': a time of 0s to 1000s"),
                ({"rails": [{**rail, "latency": "5"}]}, "rails[0].latency: '5': a time of 0s to 1000s with its unit is allowed, as 15us"),
                ({"rails": [{**rail, "burst": 400 * "9"}]}, "9...: a number of bytes is allowed"),
                ({"rails": [{**rail, "burst": "many"}]}, "rails[0].burst: 'many': a number of bytes is allowed"),
                ({"rails": [{**rail, "payload": 1.5}]}, "rails[0].payload: 1.5: a number from 0.01 on and up to 1 is allowed"),
                ({"rails": [{**rail, "payload": 10 ** 400}]}, "rails[0].payload: 10"),
                ({"rails": [{**rail, "contention": 0.5}]}, "rails[0].contention: 0.5: a number from 1 on and up to 100 is allowed"),
                ({"rails": [rail, rail]}, "rails[1].name: 'tcp/eth0' is there already"),
                ({"rails": [{**rail, "pcie": "slot"}]}, "rails[0].pcie: 'slot': no device is in pcie"),
                ({"rails": [{**rail, "trunk": False}]}, "rails: one of them at least has to have trunk: true"),
                *(({section: value}, f"{section}: fields with values are allowed, not {value}") for section, value in
                  (("cpu", 0), ("local", []), ("switch", False))),
                *(({"pcie": [{"name": "slot", "rate": "8GB", **more}]}, "pcie[0]: either generation and lanes are allowed, or rate")
                  for more in ({"generation": 3}, {"lanes": 8}, {"payload": 256})),
                ({"pcie": [{"name": "slot"}]}, "pcie[0]: either generation and lanes are allowed, or rate"),
                ({"pcie": [{"name": "slot", "generation": 7, "lanes": 16}]}, "pcie[0].generation: 7: 1, 2, 3, 4, 5, 6 are allowed"),
                ({"pcie": [{"name": "slot", "generation": 3, "lanes": 3}]}, "pcie[0].lanes: 3: 1, 2, 4"),
                ({"switch": {"kind": "torus"}}, "switch.kind: 'torus': single, fat_tree, dragonfly are allowed"),
                ({"switch": {"kind": "fat_tree"}}, "switch.levels: a single switch has none"),
                ({"switch": level}, "switch.levels[1].nodes: 8: more than the 8 of the level before"),
                ({"cpu": {"machines": 2}}, "cpu.machines: it counts with cpu.cores alone, which is missing"),
                ({"cpu": {"beyond": 1.5}}, "cpu.beyond: it counts with cpu.cache alone"),
                ({"cpu": {"rail_threads": 1}}, "cpu.rail_threads: 1: true and false are allowed"),
                ({"aggregators": {"rails": ["ib0"]}}, "aggregators.rails: 'ib0': tcp/eth0, tcp/eth1 are in rails")):
            with self.subTest(changed=changed):
                self.assertIn(said, self.complaint(changed))

    def test_files_that_are_none(self):
        for name, content, said in (("a.json", "{", "a.json is no JSON: "), ("a.yaml", "nodes: [", "a.yaml is no YAML: "),
                                    ("deep.json", 20000 * "[", "deep.json is no JSON: "), ("deep.yaml", 2000 * "[", "deep.yaml is no YAML: "),
                                    ("date.yaml", "nodes: 2001-99-99", "date.yaml is no YAML: "),
                                    ("twice.json", '{"nodes": 4, "nodes": 400}', "twice.json is no JSON: 'nodes' is there twice"),
                                    ("twice.yaml", "rails:\n  - {rate: 1gbit, rate: 25gbit}", "twice.yaml is no YAML: 'rate' is there twice"),
                                    ("b.yaml", "4", "b.yaml: the description: fields with values are allowed, not 4"),
                                    ("c.json", {"nodes": 4}, "c.json: rails is missing")):
            status, out, err = run(self.file(name, content))
            self.assertEqual((status, out), (3, ""))
            self.assertIn(said, err)
            self.assertTrue(err.startswith("nezha plan: "))
        self.assertIn("none.yaml cannot be read: No such file", run(self.path("none.yaml"))[2])

    def test_what_no_message_has_room_for(self):
        """A list that aliases make 9 to the power of 9 words long, a number of 10000 digits, and a name that moves the cursor."""
        lines = [f"- &a{level} [{', '.join(9 * [f'*a{level - 1}' if level else 'word'])}]" for level in range(9)]
        for name, content, said in (("aliases.yaml", "\n".join(["pcie:", *lines, "nodes: *a8"]), "nodes: [[["),
                                    ("digits.yaml", f"nodes: 0x{9000 * 'f'}\n", "nodes: a number of too many digits: a whole number"),
                                    ("key.yaml", f"? 0x{9000 * 'f'}\n: 1\n", "a number of too many digits: there is no such field"),
                                    ("cursor.json", {"\x1b[2J": 4}, r"'\x1b[2J': there is no such field")):
            with self.subTest(name=name):
                status, _, err = run(self.file(name, content))
                self.assertEqual(status, 3)
                self.assertIn(said, err)
                self.assertLess(len(err), 400)

    def test_yaml_without_its_module(self):
        real = builtins.__import__

        def lacking(name, *rest):
            if name == "yaml":
                raise ModuleNotFoundError(name=name)
            return real(name, *rest)

        yaml, lines = self.file("c.yaml", "nodes: 4\n"), self.file("c.json", SMALL)
        with mock.patch("builtins.__import__", lacking):
            self.assertIn("c.yaml is YAML, for which Python's module yaml is missing: install python3-yaml, or write it as JSON", run(yaml)[2])
            self.assertEqual(run(lines)[0], 0)

    def test_yaml_and_json_are_alike(self):
        try:
            import yaml
        except ModuleNotFoundError:
            self.skipTest("there is no python3-yaml here")
        text = manual_example("nezha-cluster.5")
        self.assertEqual(description.cluster(description.load(self.file("c.yaml", text))), description.cluster(yaml.safe_load(text)))
        rails = [{"rate": "1gbit", "name": "a"}, {"rate": "2gbit", "name": "a"}]
        for content in ("{nodes: 4, rails: [&a {rate: 1gbit, name: a}, {<<: *a, rate: 2gbit}]}", json.dumps({"nodes": 4, "rails": rails})):
            self.assertEqual(description.load(self.file("flow.yaml", content)), {"nodes": 4, "rails": rails})

    def test_the_manual_has_every_field(self):
        text = read(TOP, "contrib", "man", "nezha-cluster.5").replace("\\-", "-")
        for table in (description._TOP, description._RAIL, description._DEVICE, description._SWITCH, description._LEVEL, description._CPU,
                      description._LOCAL, description._AGGREGATORS):
            for name in table:
                self.assertRegex(text, rf"\.BR? (?:\w+ \", \" )*{name}\b", name)


class Answers(Place):
    def plan(self, *words, document=None):
        status, out, err = run(self.file("cluster.json", document or SMALL), *words)
        self.assertEqual((status, err), (0, ""))
        return out

    def json(self, *words, **more):
        return json.loads(self.plan("--json", *words, **more))["plans"]

    def test_tables(self):
        text = plain(self.plan("--sizes", "4K,64K,16M"))
        self.assertIn("4 nodes, 23.5 Gbit/s + 23.5 Gbit/s", text)
        self.assertIn("size single_step doubling mesh halving ring fastest margin", text)
        self.assertIn("size fastest takes of limit latency rails cpu threads is limited by", text)
        self.assertRegex(text, r"16M (?:\S+ )+rail tcp/eth0$")
        self.assertRegex(text, "64K - - ")

    def test_aggregators_that_are_of_no_use(self):
        described = {**SMALL, "aggregators": {"kind": "switch"}, "ranks_per_node": 2}
        said = "; no aggregators, which are for one rank on each node"
        self.assertIn(f"4 nodes, 2 ranks each, 23.5 Gbit/s + 23.5 Gbit/s{said}\n", self.plan("--sizes", "4K", document=described))
        self.assertNotIn(said, self.plan("--sizes", "4K", document={**described, "ranks_per_node": 1}))

    def test_nodes_and_changes(self):
        plans = self.json("--nodes", "4,64", "--sizes", "64K:64M", "--what-if", "rail+1", "--what-if", "rate*2,nodes*2")
        self.assertEqual([plan["nodes"] for plan in plans], [4, 64])
        now, then = plans[1]["sizes"][-1], plans[1]["what_if"]["rail+1"][-1]
        self.assertAlmostEqual(now["ways"][0]["us"] / then["ways"][0]["us"], 1.5, 1)
        self.assertEqual(now["ways"][0]["way"], now["fastest"])
        self.assertAlmostEqual(sum(now["ways"][0]["shares"].values()), 1)
        self.assertEqual({(way["way"], *way["rails"]) for way in now["ways"] if way["algorithm"] == "ring"},
                         {("ring", "tcp/eth0", "tcp/eth1"), ("ring on one rail", "tcp/eth0")})
        times = [way["us"] for way in now["ways"]]
        self.assertEqual(times, sorted(times))
        self.assertAlmostEqual(now["margin"], times[1] / times[0])
        text = plain(self.plan("--sizes", "64M", "--what-if", "rail+1"))
        self.assertRegex(text, r"size now rail\+1 x 64M \S+ ms \S+ ms 1\.50$")

    def test_wrong_arguments(self):
        path = self.file("cluster.json", SMALL)
        for words, said in ((["--sizes", "4,x"], "size 'x'"), (["--sizes", 400 * "9"], "a number of up to 15 digits"), (["--nodes", "0"], "1 or more is allowed"), (["--nodes", "1"], "'nodes 1': 2 to 1048576"),
                            (["--what-if", "rails+1"], "what-if 'rails+1': rail+N, "),
                            (["--what-if", "nodes+²"], "after + and - a whole number"), (["--what-if", "nodes+" + "9" * 5000], "a whole number"), (["--page", "/nonexistent/p"], "cannot be written")):
            with self.subTest(words=words):
                status, out, err = run(path, *words)
                self.assertEqual((status, out), (2, ""))
                self.assertIn(said, err)

    def test_no_result_replaces_an_input_or_another(self):
        path, measured, new = self.file("cluster.json", SMALL), self.file("bench.json", read(BENCH)), self.path("new")
        for words, said in ((["--page", path], "which is read"), (["--table", path], "which is read"),
                            (["--from", measured, "--page", measured], "which is read"), (["--table", new, "--page", new], "the file of --table")):
            with self.subTest(words=words):
                status, _, err = run(path, *words)
                self.assertEqual(status, 2)
                self.assertIn(said, err)
        self.assertEqual((json.loads(read(path)), os.path.exists(new)), (SMALL, False))

    def test_names_on_a_terminal(self):
        """In whose columns words in brackets are no colours."""
        try:
            from rich.console import Console
        except ModuleNotFoundError:
            self.skipTest("there is no python3-rich here")
        rails = [{"name": name, "rate": "1gbit"} for name in ("a[red]", "b[/b]")]
        out = io.StringIO()
        with mock.patch("nezha_command.terminal.console", lambda: Console(file=out, width=200)):
            self.assertEqual(run(self.file("cluster.json", {"nodes": 4, "rails": rails}), "--what-if", "rail-a[red]", "--what-if", "rail-b[/b]")[0], 0)
        self.assertIn("rail-a[red]", out.getvalue())
        self.assertIn("rail-b[/b]", out.getvalue())

    def test_16384_nodes(self):
        """Under 10 s and 1 GiB, of which little is used."""
        started = time.process_time()
        plan, = self.json(*limits.WORDS, document=limits.LARGEST)
        self.assertLess(time.process_time() - started, 10)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 1 << 20)
        self.assertEqual(plan["nodes"] * plan["ranks_per_node"], 131072)

    def test_a_page(self):
        try:
            import matplotlib  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("there is no python3-matplotlib here")
        self.plan("--nodes", "4,16", "--what-if", "rail+1", "--page", self.path("p.html"))
        page = read(self.path("p.html"))
        self.assertEqual(page.count("<svg"), 7)
        self.assertEqual(re.findall(r'(?:src|href)="(?!#)[^"]*"|@import|<script[^>]|<link', page), [])
        identifiers = re.findall(r'\bid="([^"]+)"', page)
        self.assertEqual(len(identifiers), len(set(identifiers)))
        self.assertIn("Computed from a description and not measured", page)
        self.assertIn("as fast with rail+1 at 64M", page)
        for shown in (r"ring: 64K, [\d.]+ µs", r"rails: 16M, [\d.]+", r"rail\+1: 64M, [\d.]+", r"4M: 16, [\d.]+ ms"):
            self.assertRegex(page, f"<title>{shown}</title></use>")

    def test_a_page_of_any_names(self):
        try:
            import matplotlib  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("there is no python3-matplotlib here")
        rails = [{"name": name, "rate": "1gbit"} for name in (r"a$\frac$", "<script>alert(1)</script>")]
        status, _, err = run(self.file("q\udcff.json", {"nodes": 4, "rails": rails}), "--sizes", "4K,8K", "--what-if", r"rail-a$\frac$",
                             "--what-if", f"rate:{rails[1]['name']}*2", "--page", self.path("p.html"))
        self.assertEqual((status, err), (0, ""))
        page = read(self.path("p.html"))
        self.assertIn("<title>Nezha: plan</title>", page)
        self.assertIn("q\ufffd.json: MPI_Allreduce on 4 nodes", page)
        self.assertIn(r"<title>rail-a$\frac$: 8K", page)
        self.assertEqual(page.count("<script>"), 1)


class Measured(Place):
    def table(self, factor):
        """Times of the model, `factor` times as long, as nezha tune would have put them into a table."""
        cluster = description.cluster(SMALL)
        rules = []
        for size in (1 << power for power in range(2, 26, 3)):
            ways = [{"alg": one.way.algorithm, **({"rails": "one"} if one.way.rails else {}), "time_ns": round(factor * 1e9 * one.seconds)}
                    for one in answers.answer(cluster, size).estimates]
            rules.append({"msg_size_min": size, "msg_size_max": 2 * size - 1, "alg": ways[0]["alg"], "measured": ways})
        shape = {f"comm_{what}_{end}": 4 for what in ("size", "nodes") for end in ("min", "max")}
        return self.file("measured.json", {"rule_file_version": 1, "module": "nezha", "collectives": {"allreduce": [{**shape, "rules": rules}]}})

    def fit(self, *paths, document=None):
        words = [word for path in paths for word in ("--from", path)]
        status, out, err = run(self.file("cluster.json", document or SMALL), "--json", *words)
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)["fit"]

    def test_what_the_model_gives_needs_no_factors(self):
        found = self.fit(self.table(1))
        self.assertLess(found["typical_error"], 0.01)
        for name, factor in found["factors"].items():
            self.assertAlmostEqual(factor, 1, 1, name)

    def test_everything_slower(self):
        found = self.fit(self.table(1.5))
        self.assertLess(found["typical_error"], 0.03)
        self.assertTrue(1.2 < found["factors"]["byte"] < 1.9, found)  # of which little depends here
        self.assertAlmostEqual(found["factors"]["message"], 1.5, 1)

    def test_errors_of_the_model_are_made_up_for(self):
        """At a size that was measured, and by half of it in between; other changes are compared alike, other numbers of nodes left alone."""
        path = self.table(1)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        slow = [way for rule in document["collectives"]["allreduce"][0]["rules"] for way in rule["measured"]
                if rule["msg_size_min"] == 1 << 14 and way["alg"] == "ring" and "rails" not in way]
        slow[0]["time_ns"] *= 2
        _, out, _ = run(self.file("cluster.json", SMALL), "--json", "--sizes", "16K,46341", "--nodes", "4,8", "--what-if", "message*1", "--from",
                        self.file("slow.json", document))
        four, eight = json.loads(out)["plans"]
        (_, plain_out, _) = run(self.path("cluster.json"), "--json", "--sizes", "16K,46341", "--nodes", "4,8")
        bare_four, bare_eight = json.loads(plain_out)["plans"]

        def ring(sizes, number):
            return next(way["us"] for way in sizes[number]["ways"] if way["way"] == "ring")

        self.assertAlmostEqual(ring(four["sizes"], 0), slow[0]["time_ns"] / 1000, delta=0.01)
        self.assertAlmostEqual(ring(four["sizes"], 1) / ring(bare_four["sizes"], 1), 2 ** 0.5, delta=0.1)
        self.assertEqual(ring(four["what_if"]["message*1"], 0), ring(four["sizes"], 0))
        self.assertAlmostEqual(ring(eight["sizes"], 0) / ring(bare_eight["sizes"], 0), 1, delta=0.1)

    def test_errors_of_small_sizes_say_nothing_of_large_ones(self):
        """Else large vectors would be faster than rails."""
        with open(self.table(1), encoding="utf-8") as file:
            document = json.load(file)
        rules = document["collectives"]["allreduce"][0]["rules"]
        del rules[4:]
        for way in rules[-1]["measured"]:
            way["time_ns"] = round(way["time_ns"] / 2)
        sizes = f"{rules[-1]['msg_size_min']},64M"
        words = self.file("cluster.json", SMALL), "--json", "--sizes", sizes
        (near, far), (bare_near, bare_far) = (json.loads(run(*words, *more)[1])["plans"][0]["sizes"]
                                              for more in (["--from", self.file("small.json", document)], []))
        self.assertAlmostEqual(near["ways"][0]["us"] / bare_near["ways"][0]["us"], 0.5, delta=0.01)
        self.assertAlmostEqual(far["ways"][0]["us"] / bare_far["ways"][0]["us"], 1, delta=0.1)
        self.assertGreater(far["ways"][0]["us"], 0.99 * far["least_us"])

    def test_it_is_told(self):
        status, out, _ = run(self.file("cluster.json", SMALL), "--from", self.table(1))
        self.assertEqual(status, 0)
        self.assertRegex(out, r"^Fitted to \d+ measured times: latency x \d.*\. Typical difference \S+ %, largest \S+ %: made up for at the measured sizes and in between\.\n")

    def test_rails_that_nodes_have(self):
        rails = [{"name": "tcp/eth0", "speed_mbps": 10000}, {"name": "tcp/eth1", "speed_mbps": 25000}]
        answered = {"nodes": {"n0": {"rails": rails}, "n1": {"rails": [*rails[1:], {"name": "tcp/ib0", "speed_mbps": 1}]}}, "complaint": ""}
        status, out, _ = run(self.file("cluster.json", {}), "--json", "--from", self.file("rails.json", answered))
        plan, = json.loads(out)["plans"]
        self.assertEqual((status, plan["nodes"], [rail["name"] for rail in plan["rails"]]), (0, 2, ["tcp/eth1"]))
        self.assertAlmostEqual(plan["rails"][0]["bytes_per_s"], 25e9 / 8 * 0.94)
        rails[1]["speed_mbps"] = 0
        self.assertIn("the speed of tcp/eth1 is not known", run(self.file("cluster.json", {}), "--from", self.file("rails.json", answered))[2])

    def test_what_is_no_measurement(self):
        path = self.file("cluster.json", SMALL)
        for name, content, said in (("x", "x", "x is no JSON"), ("list", [1], "nothing that nezha rails --json or nezha bench --json has written"),
                                    ("cases", {"cases": [{}]}, "nothing that"), ("deep", 20000 * "[", "deep is no JSON"),
                                    ("nodes", {"nodes": [1]}, "nothing that"), ("speed", {"nodes": {"a": {"rails": [{"name": "x"}]}}}, "nothing that"),
                                    ("none", {"nodes": {"a": {"rails": [{"name": "x", "speed_mbps": 1e400}]}}}, "nothing that"), ("empty", {"cases": []}, "no time of a call that Nezha carried")):
            with self.subTest(name=name):
                self.assertIn(said, run(path, "--from", self.file(name, content))[2])
        self.assertIn("3 measured times of rails like the described ones are needed at least, not 1", run(path, "--from", LEARNED)[2])

    def test_values_that_no_measurement_has(self):
        path, bench = self.file("cluster.json", SMALL), json.loads(read(BENCH))
        row = bench["cases"][0]["summary"]["sizes"][0]
        cell = row["competitors"][bench["cases"][0]["summary"]["subject"]]
        whole = dict(row)
        cell["carried_by"] = "rails"
        for changed in ({"size": 0}, {"size": -4}, {"size": "4"}, {"size": 4.5}, {"noise_floor": "x"}, {"noise_floor": -1}):
            with self.subTest(changed=changed):
                row.update(changed)
                self.assertIn("nothing that", run(path, "--from", self.file("bench.json", bench))[2])
                row.update(whole)
        for median in (0, -3, float("nan"), 1e400, 1e300):
            with self.subTest(median=median):
                cell["us"] = {"median": median}
                self.assertIn("nothing that", run(path, "--from", self.file("bench.json", bench))[2])

    def test_without_learning_the_algorithm_depends_on_nodes(self):
        """Between which ranks that share memory carry parts."""
        case = {"summary": {"subject": "nezha", "case": {"nodes": 2, "rails": []}, "sizes": [{"size": 64 << 10, "competitors": {"nezha": {"us": {"median": 9}}}}]},
                "versions": {"nezha": {"ranks": 16}}, "nezha_mca": [["coll_nezha_learn", "0"]]}
        found, = observations.of_bench({"cases": [case]})
        self.assertEqual((found.ranks_per_node, found.algorithm), (8, "ring"))

    def test_rails_that_were_measured_have_to_be_the_described_ones(self):
        self.assertIn("3 measured times of rails like the described ones are needed at least, not 0",
                      run(self.file("cluster.json", SMALL), "--from", BENCH)[2])
        lab = {"nodes": 4, "rest": "200us", "rails": [{"rate": "1gbit", "payload": 0.957, "burst": "128K", "byte": "1ns"} for _ in range(2)],
               "cpu": {"cores": 2, "machines": 1}}
        self.assertLess(self.fit(BENCH, document=lab)["typical_error"], 0.05)


class Tables(Place, CommandCase):
    """What the component itself says of a plan's table; needs the installed command."""

    def test_it_is_sound(self):
        cluster, table = self.file("cluster.json", SMALL), self.path("plan.table")
        self.nezha("plan", cluster, "--nodes", "4,1024", "--table", table)
        self.assertEqual(self.nezha("table", "check", table), f"{table} is sound\n")
        text = plain(self.nezha("table", "show", table))
        self.assertIn("4 ranks on 4 nodes", text)
        self.assertRegex(text, r"1024 ranks on 1024 nodes size way .* [0-9A-Z]+ and more ring")
        first = read(table)
        self.nezha("plan", cluster, "--nodes", "4,1024", "--table", table)  # once more
        self.assertEqual(read(table), first)

    def test_what_was_measured_stays(self):
        table = self.file("learned.json", read(LEARNED))
        cluster = self.file("cluster.json", SMALL)
        for path in table, self.file("other", "mine"):
            before = read(path)
            self.nezha("plan", cluster, "--table", path, status=3)
            self.assertEqual(read(path), before)

    def test_the_manuals_example(self):
        try:
            import yaml  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("there is no python3-yaml here")
        self.assertIn("16 nodes, 2 ranks each", self.nezha("plan", self.file("c.yaml", manual_example("nezha-cluster.5"))))


if __name__ == "__main__":
    unittest.main()
