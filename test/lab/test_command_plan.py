# SPDX-License-Identifier: BSD-3-Clause
"""nezha plan: descriptions and what is wrong with them, what it prints and writes; needs no lab."""

import builtins
import io
import json
import os
import re
import resource
import time
import unittest
from unittest import mock

from bench_case import TOP
from command_case import CommandCase, plain
from documents import manual_example, read
from plan_case import BENCH, LEARNED, SMALL, Place, run

from nezha_papers import limits
from nezha_plan import description
from nezha_plan.errors import PlanError


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
        said = "; no aggregators, which are modelled with one rank on each node"
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
        for words, said in ((["--sizes", "4,x"], "size 'x'"), (["--sizes", 400 * "9"], "a number of up to 15 digits"),
                            (["--sizes", "4,262145G"], "size '262145G': up to 262144G is allowed"), (["--nodes", "0"], "1 or more is allowed"), (["--nodes", "1"], "'nodes 1': 2 to 1048576"),
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

    def test_other_files_and_what_was_measured_stay(self):
        """Also rules of Open MPI's component tuned, which have the same form."""
        cluster, planned = self.file("cluster.json", SMALL), self.path("plan.table")
        self.nezha("plan", cluster, "--table", planned)
        table = json.loads(read(planned))
        others = {**table["collectives"], "bcast": json.loads(read(LEARNED))["collectives"]["allreduce"]}
        for path in (self.file("learned.json", read(LEARNED)), self.file("other", "mine"), self.file("tuned", {**table, "module": "tuned"}),
                     self.file("bcast", {**table, "collectives": others})):
            with self.subTest(path=path):
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
