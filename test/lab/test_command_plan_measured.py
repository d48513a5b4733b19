# SPDX-License-Identifier: BSD-3-Clause
"""nezha plan --from: what the model is fitted to, how far that counts, and files that are no measurement; needs no lab."""

import json
import unittest

from documents import read
from plan_case import BENCH, LEARNED, SMALL, Place, run

from nezha_plan import answers, description, observations


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
        """At a size that was measured, and by half of it in between. Other numbers of nodes are left alone, but changes are compared alike."""
        path = self.table(1)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        slow = [way for rule in document["collectives"]["allreduce"][0]["rules"] for way in rule["measured"]
                if rule["msg_size_min"] == 1 << 14 and way["alg"] == "ring" and "rails" not in way]
        slow[0]["time_ns"] *= 2
        _, out, _ = run(self.file("cluster.json", SMALL), "--json", "--sizes", "16K,46341", "--nodes", "4,8", "--what-if", "message*1",
                        "--what-if", "nodes*2", "--from",
                        self.file("slow.json", document))
        four, eight = json.loads(out)["plans"]
        (_, plain_out, _) = run(self.path("cluster.json"), "--json", "--sizes", "16K,46341", "--nodes", "4,8", "--what-if",
                              "nodes*2")
        bare_four, bare_eight = json.loads(plain_out)["plans"]

        def ring(sizes, number):
            return next(way["us"] for way in sizes[number]["ways"] if way["way"] == "ring")

        self.assertAlmostEqual(ring(four["sizes"], 0), slow[0]["time_ns"] / 1000, delta=0.01)
        self.assertAlmostEqual(ring(four["sizes"], 1) / ring(bare_four["sizes"], 1), 2 ** 0.5, delta=0.1)
        self.assertEqual(ring(four["what_if"]["message*1"], 0), ring(four["sizes"], 0))
        self.assertAlmostEqual(ring(eight["sizes"], 0) / ring(bare_eight["sizes"], 0), 1, delta=0.1)
        self.assertAlmostEqual(ring(four["what_if"]["nodes*2"], 0) / ring(eight["sizes"], 0), 2, delta=0.15)
        self.assertAlmostEqual(ring(eight["what_if"]["nodes*2"], 0) / ring(bare_eight["what_if"]["nodes*2"], 0), 1, delta=0.1)

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

    def test_a_table_of_ranges_too(self):
        """Which need neither end, as rules need no least size."""
        with open(self.table(1), encoding="utf-8") as file:
            document = json.load(file)
        shape, = document["collectives"]["allreduce"]
        rules = [{"msg_size_max": 1, "alg": "doubling", "measured": [{"alg": "doubling", "time_ns": 40000}]}]
        document["collectives"]["allreduce"] += [{"comm_size_min": 4, "comm_nodes_min": 4, "rules": rules}, {**shape, "rules": rules}, {"rules": []}]
        kind, found = observations.read(self.file("mixed.json", document))
        self.assertEqual((kind, {one.nodes for one in found}, [one.seconds for one in found if one.size == 1]), ("times", {4}, [4e-5]))

    def test_rails_that_nodes_have(self):
        rails = [{"name": "tcp/eth0", "speed_mbps": 10000}, {"name": "tcp/eth1", "speed_mbps": 25000}]
        answered = {"nodes": {"n0": {"rails": rails}, "n1": {"rails": [*rails[1:], {"name": "tcp/ib0", "speed_mbps": 1}]}}, "complaint": ""}
        status, out, _ = run(self.file("cluster.json", {}), "--json", "--from", self.file("rails.json", answered))
        plan, = json.loads(out)["plans"]
        self.assertEqual((status, plan["nodes"], [rail["name"] for rail in plan["rails"]]), (0, 2, ["tcp/eth1"]))
        self.assertAlmostEqual(plan["rails"][0]["bytes_per_s"], 25e9 / 8 * 0.94)
        rails[1]["speed_mbps"] = 0
        self.assertIn("the speed of tcp/eth1 is not known", run(self.file("cluster.json", {}), "--from", self.file("rails.json", answered))[2])

    def test_other_calls_and_nodes_that_differ_are_left_out(self):
        bench = json.loads(read(BENCH))
        summary = bench["cases"][0]["summary"]
        for where, changed in ((summary, {"collective": "bcast"}), (summary["case"], {"node_rates": ["1:1:500mbit"]}),
                               (summary["case"], {"aggregator": ["4gbit"]}), (summary["case"], {"ranks": [1, 2, 4, 5]})):
            before = dict(where)
            self.assertTrue(list(observations.of_bench(bench)))
            where.update(changed)
            with self.subTest(changed=changed):
                self.assertEqual(list(observations.of_bench({"cases": bench["cases"][:1]})), [])
            where.clear()
            where.update(before)

    def test_columns_that_are_not_of_nezha_over_all_rails(self):
        """Open MPI's, a single rail's, what is invalid, and what nobody knows the carrier of."""
        text, mca = read(BENCH), '"nezha_mca": [["coll_nezha_{}"]], "summary"'
        for old, new in (('"nezha"', '"ompi-all"'), ('"nezha"', '"nezha-one"'), ('"carried_by": "rails"', '"carried_by": "unknown"'),
                         ('"subject"', '"invalid": {"nezha": "the component was not in use"}, "subject"'),
                         *(('"summary"', mca.format(pair)) for pair in ('rail_include", "eth0', 'rail_exclude", "eth0', 'share", "eth0:1',
                                                                        'sharp", "1', 'aggregators", "n0:4712'))):
            with self.subTest(new=new):
                changed = self.file("bench.json", text.replace(old, new))
                self.assertIn("has no time of a call that Nezha carried", run(self.file("cluster.json", SMALL), "--from", changed)[2])

    def test_rails_that_a_cluster_names(self):
        """Of which the bench knows nothing but what the description has."""
        bench = json.loads(read(BENCH))
        bench["cases"][0]["summary"]["case"]["rails"] = []
        bench["cases"][0]["nezha_mca"] = [["coll_nezha_rail_include", "eth0,eth1"]]
        self.assertTrue(list(observations.of_bench(bench)))

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
        case = {"summary": {"subject": "nezha", "case": {"nodes": 2, "rails": []}, "sizes": [{"size": 64 << 10, "competitors": {"nezha": {"us": {"median": 9}, "carried_by": "rails"}}}]},
                "versions": {"nezha": {"ranks": 16}}, "nezha_mca": [["coll_nezha_learn", "0"]]}
        found, = observations.of_bench({"cases": [case]})
        self.assertEqual((found.ranks_per_node, found.algorithm), (8, "ring"))

    def test_an_algorithm_that_was_named_carried_the_calls(self):
        for named, expected in (("halving", "halving"), ("doubling", "ring"), ("automatic", "")):
            bench = json.loads(read(BENCH))
            bench["cases"][0]["nezha_mca"] = [["coll_nezha_algorithm", named]]
            found = {one.algorithm for one in observations.of_bench({"cases": bench["cases"][:1]}) if one.size > 32 << 10}
            self.assertEqual(found, {expected})

    def test_rails_that_were_measured_have_to_be_the_described_ones(self):
        self.assertIn("3 measured times of rails like the described ones are needed at least, not 0",
                      run(self.file("cluster.json", SMALL), "--from", BENCH)[2])
        lab = {"nodes": 4, "rest": "200us", "rails": [{"rate": "1gbit", "payload": 0.957, "burst": "128K", "byte": "1ns"} for _ in range(2)],
               "cpu": {"cores": 2, "machines": 1}}
        self.assertLess(self.fit(BENCH, document=lab)["typical_error"], 0.05)


if __name__ == "__main__":
    unittest.main()
