# SPDX-License-Identifier: BSD-3-Clause
"""contrib/figures: figures of the papers within the errors that were set for them; needs no build."""

import functools
import json
import os
import statistics
import subprocess
import tempfile
import unittest

from bench_case import TOP
from lab_case import PYTHON_DIR  # noqa: F401 (its import makes nezha_papers importable)

from nezha_papers import lab, limits, multirail, neuron, sauron, words
from nezha_papers.multirail import KB, MB

COSTS, BENCH, LAB = (os.path.join(TOP, "test", "tables", name) for name in ("costs.txt", "bench.json", "lab.json"))


@functools.cache
def rows_of_the_lab():
    """The model is fitted to each case, which takes seconds."""
    return list(lab.rows())


class Figures(unittest.TestCase):
    def check(self, paper):
        rows = list(paper.rows())
        for row in rows:
            self.assertTrue(row.holds, f"{row.what}: {row.theirs:g} there, {row.ours:g} here")
        return rows

    def test_pcie_devices(self):
        self.check(sauron)

    def test_steps_and_traffic(self):
        rows = self.check(neuron)
        until = {row.what: row.ours for row in rows if row.unit == "kB"}
        self.assertAlmostEqual(until["single_step up to, 4 ranks"], 93.75 * 4 / 6)

    def test_the_single_step_mesh_wins_up_to_there(self):
        for ranks in (3, 5, 16):
            until = neuron.single_step_until(ranks)
            for factor, faster in ((0.99, True), (1.01, False)):
                times = [neuron.seconds(name, ranks, factor * until) for name in (neuron.SINGLE_STEP, neuron.MESH)]
                self.assertEqual(times[0] < times[1], faster)

    def test_table_i(self):
        rows = [row for row in self.check(multirail) if row.what.startswith("Table I, ")]
        self.assertEqual((len(rows), sum(row.fitted for row in rows)), (15, 6))
        self.assertTrue(all(row.tolerance == 0.15 for row in rows))

    def test_break_even(self):
        self.assertAlmostEqual(multirail.break_even(), 3.5, 1)
        self.assertGreater(multirail.gain(multirail.glex_sharp(4), 8 * MB), 0)

    def test_what_a_second_network_gains(self):
        """No tolerance was set; so many points beside the paper's least and most it is."""
        points = {"TCP-TCP": {2: (10, 6), 4: (12, 6), 6: (26, 6)}, "GLEX-SHARP": {2: (9, 3), 4: (18, 13), 6: (17, 8)}}
        for pair, make in multirail.PAIRS:
            for nodes, (*theirs, first) in multirail.GAINS[pair].items():
                for paper, ours, delta in zip(theirs, multirail.gains(make(nodes), first), points[pair][nodes]):
                    self.assertAlmostEqual(ours, paper, delta=delta, msg=f"{pair}, {nodes} nodes")

    def test_small_vectors_take_one_network(self):
        self.assertEqual(multirail.cold_until(multirail.tcp_tcp(2)), 128 * KB)
        self.assertGreater(multirail.cold_until(multirail.tcp_tcp(6)), 128 * KB)
        for size in (4, 8 * KB):
            self.assertLess(multirail.with_share(multirail.glex_sharp(2), size, 1.0), multirail.with_share(multirail.glex_sharp(2), size, 0.0))
        for row in multirail.rows():
            if row.what.startswith(("GLEX, 2 nodes", "SHARP, 2 nodes")):
                self.assertLess(abs(row.error), 0.25, row.what)

    def test_the_lab(self):
        """Of 2, 4 and 6 nodes with four kinds of rails, powers of two from sizes between them: those from 64K on."""
        told = [row for row in rows_of_the_lab() if row.tolerance == 0.05]
        self.assertEqual(len(told), 12 * 8)
        self.assertGreaterEqual(sum(row.holds for row in told), 91)
        self.assertLessEqual({row.what for row in told if not row.holds and row.resolvable}, {"1gbit+100mbit, 6 nodes, 256K"})
        self.assertLess(statistics.median(abs(row.error) for row in told), 0.01)

    def test_small_vectors_of_the_lab(self):
        """Below 64K with closer sizes, of which those that are no powers of two tell the others."""
        told = [row for row in rows_of_the_lab() if row.tolerance == 0.10]
        self.assertEqual(len(told), 12 * 10)
        self.assertGreaterEqual(sum(row.holds for row in told), 111)
        self.assertLessEqual({row.what for row in told if row.missed}, {"1gbit+1gbit, 2 nodes, 32K"})
        self.assertLess(statistics.median(abs(row.error) for row in told), 0.02)
        self.assertTrue(all(row.reason for row in told if row.missed))

    def test_one_case_of_the_lab_tells_the_others(self):
        told = [row for row in lab.across(LAB) if not row.fitted and row.theirs > 1000 and row.tolerance == 0.05]
        within = [row for row in told if row.holds or not row.resolvable]
        self.assertGreater(len(within) / len(told), 0.85)
        self.assertLess(statistics.median(abs(row.error) for row in told), 0.03)

    def test_the_labs_table(self):
        for words, line in (([], r"(?m)^1\+1, 4 nodes, 4M +26457 +2[56]\d+ +\S+ % +5 % +1\.6 %$"),
                            (["--across"], r"(?m)^1\+1, 4 nodes, 4M +26457 +2[56]\d+ +\S+ % +5 % +1\.6 % +given$")):
            done = subprocess.run([os.path.join(TOP, "contrib", "figures"), "--lab", BENCH, *words], capture_output=True, text=True, check=True)
            self.assertRegex(done.stdout, line)

    def test_what_is_no_bench_file(self):
        for path, said in ((COSTS, "is no JSON"), (os.path.join(TOP, "test", "tables", "learned.json"), "it is not of contrib/bench --json")):
            done = subprocess.run([os.path.join(TOP, "contrib", "figures"), "--lab", path], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(said, done.stderr)

    def test_a_bench_file_with_values_that_no_measurement_has(self):
        with open(BENCH, encoding="utf-8") as file:
            document = json.load(file)
        for changed in ({"size": "4"}, {"size": 0}, {"noise_floor": -1}):
            document["cases"][0]["summary"]["sizes"][2].update(changed)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(document, file)
                file.flush()
                done = self.run_it("--lab", file.name)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("it is not of contrib/bench --json", done.stderr)

    def test_options_that_leave_one_another_out(self):
        for words, said in ((["--lab", BENCH, "--page", os.path.join(tempfile.gettempdir(), "p.html")], "--page: there is one of parts alone"),
                            (["--across", "003"], "--across goes with --lab alone")):
            done = self.run_it(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)

    def run_it(self, *words):
        return subprocess.run([os.path.join(TOP, "contrib", "figures"), *words], capture_output=True, text=True, check=False)

    def test_the_command(self):
        done = self.run_it("003", "004")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for paper in ("003", "004"):
            self.assertIn(words.TITLES[paper], done.stdout)
        self.assertRegex(done.stdout, r"Table I, 64 MB, S/G 1/99 +1\.8882e\+05 +\S+ +us +\S+ % +15 % +test_figures\.test_table_i\n")
        self.assertNotRegex(done.stdout, r" missed +test_")
        self.assertRegex(done.stdout, r"Of \d+ figures \d+ are within what was set, 0 missed, 7 given to a model, \d+ only shown\.\n")
        self.assertIn("'005': 001, 003, 004, lab, simgrid, limits are allowed", self.run_it("005").stderr)

    def test_what_the_commands_take(self):
        done = self.run_it("limits", "--build", "/nonexistent")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for unit in ("s", "MiB"):
            self.assertRegex(done.stdout, rf"nezha plan, 16384 nodes of 8 ranks +\d+ +\S+ +{unit} +at most +(missed +)?test_command_plan\.")

    def test_each_figure_names_its_test(self):
        simulated = {"what": "", "paper": 1.0, "ours": 1.0, "allowed": "", "holds": True, "outside": ""}
        rows = [*sauron.rows(), *sauron.simulated({"figures": [simulated, {**simulated, "what": "C1 of 128 nodes, 8 x 512"}]}), *neuron.rows(),
                *multirail.rows(), *rows_of_the_lab(), *limits.rows()]
        for script, function in {tuple(row.test.split(".")) for row in rows}:
            with open(os.path.join(TOP, "test", "lab", f"{script}.py"), encoding="utf-8") as file:
                self.assertIn(f"    def {function}(self)", file.read())

    def test_without_a_build(self):
        with tempfile.TemporaryDirectory() as place:
            done = self.run_it("001", "--build", place)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"PCIe 3\.0, 16 lanes +126 +126")
        self.assertIn(f"figures: {place}/contrib/simulate/nezha_simulate is not there, so that nothing is simulated", done.stderr)

    def test_what_is_simulated(self):
        figure = {"what": "a knee, %", "paper": 60.0, "ours": 80.0, "allowed": "50 to 70", "holds": False, "outside": ""}
        wrong, known, given = sauron.simulated({"figures": [figure, {**figure, "outside": "the paper's own"},
                                                            {**figure, "allowed": "given", "holds": True}]})
        self.assertEqual([(row.holds, row.reason, row.within_text(), row.fitted) for row in (wrong, known, given)],
                         [(False, "", "50 to 70", False), (False, "the paper's own", "50 to 70", False), (True, "", "", True)])

    def test_the_page(self):
        try:
            import matplotlib  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("there is no python3-matplotlib here")
        with tempfile.TemporaryDirectory() as place:
            page = os.path.join(place, "page.html")
            self.run_it("003", "004", "--page", page)
            with open(page, encoding="utf-8") as file:
                text = file.read()
        self.assertEqual(text.count("<svg"), 3)
        self.assertIn("<td class=text>Table I, 8 MB, S/G 1/1</td>", text)


if __name__ == "__main__":
    unittest.main()
