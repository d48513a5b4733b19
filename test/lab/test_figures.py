# SPDX-License-Identifier: BSD-3-Clause
"""contrib/figures: figures of the papers within the errors that were set for them; needs no build."""

import os
import subprocess
import tempfile
import unittest

from bench_case import TOP
from lab_case import PYTHON_DIR  # noqa: F401 (its import makes nezha_papers importable)

from nezha_papers import lab, multirail, neuron, sauron, words
from nezha_papers.multirail import KB, MB

COSTS, BENCH = (os.path.join(TOP, "test", "tables", name) for name in ("costs.txt", "bench.json"))


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

    def test_the_most_that_a_second_network_gains(self):
        """In points, which no tolerance was set for."""
        for nodes, (_, most, first) in multirail.GAINS["TCP-TCP"].items():
            self.assertAlmostEqual(multirail.gains(multirail.tcp_tcp(nodes), first)[1], most, delta=6)
        for nodes, points in ((2, 3), (6, 8)):  # on 4 nodes the text contradicts Table I
            _, most, first = multirail.GAINS["GLEX-SHARP"][nodes]
            self.assertAlmostEqual(multirail.gains(multirail.glex_sharp(nodes), first)[1], most, delta=points)

    def test_small_vectors_take_one_network(self):
        self.assertEqual(multirail.cold_until(multirail.tcp_tcp(2)), 128 * KB)
        self.assertGreater(multirail.cold_until(multirail.tcp_tcp(6)), 128 * KB)
        for size in (4, 8 * KB):
            self.assertLess(multirail.with_share(multirail.glex_sharp(2), size, 1.0), multirail.with_share(multirail.glex_sharp(2), size, 0.0))

    def test_the_lab(self):
        """Of what was measured there once, half of the sizes, from the other half."""
        told = [row for row in lab.rows(BENCH) if not row.fitted]
        self.assertEqual(len(told), 4)
        for row in told:
            self.assertTrue(row.holds or not row.resolvable, row)
        self.assertTrue(all(row.holds and row.tolerance == 0.05 for row in told[2:]), told)
        done = subprocess.run([os.path.join(TOP, "contrib", "figures"), "--lab", BENCH], capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r"(?m)^1\+1, 4 nodes, 4M +26457 +\d+ +\S+ % +5 % +1\.6 %$")

    def test_what_is_no_bench_file(self):
        for path, said in ((COSTS, "is no JSON"), (os.path.join(TOP, "test", "tables", "learned.json"), "it is not of contrib/bench --json")):
            done = subprocess.run([os.path.join(TOP, "contrib", "figures"), "--lab", path], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(said, done.stderr)

    def test_the_command(self):
        def run(*papers):
            return subprocess.run([os.path.join(TOP, "contrib", "figures"), *papers], capture_output=True, text=True, check=False)

        done = run()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for title in words.TITLES.values():
            self.assertIn(title, done.stdout)
        self.assertRegex(done.stdout, r"Table I, 64 MB, S/G 1/99 +1\.8882e\+05 +\S+ +us +\S+ % +15 %\n")
        self.assertNotRegex(done.stdout, r" no\n")
        self.assertIn("'005': 001, 003, 004 are allowed", run("005").stderr)

    def test_the_page(self):
        try:
            import matplotlib  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("there is no python3-matplotlib here")
        with tempfile.TemporaryDirectory() as place:
            page = os.path.join(place, "page.html")
            subprocess.run([os.path.join(TOP, "contrib", "figures"), "--page", page], stdout=subprocess.DEVNULL, check=True)
            with open(page, encoding="utf-8") as file:
                text = file.read()
        self.assertEqual(text.count("<svg"), 3)
        self.assertIn("<td class=text>Table I, 8 MB, S/G 1/1</td>", text)


if __name__ == "__main__":
    unittest.main()
