# SPDX-License-Identifier: BSD-3-Clause
"""nezha simulate: the paper's figures, a cluster of the user's, the picture, and what it says of wrong arguments."""

import json
import os
import subprocess
import tempfile
import unittest

from command_case import COMMAND, CommandCase, plain
from documents import BLOCK, GUIDES, read

SMALL = ("--nodes", "8", "--accelerators", "4", "--train", "32", "--warm-up-us", "10", "--measured-us", "30")


class Papers(CommandCase):
    def test_published_figures(self):
        """Each as near as it is allowed to be, but for those that name a reason."""
        found = json.loads(self.nezha("simulate", "--papers", "--json"))
        for figure in found["figures"]:
            with self.subTest(figure=figure["what"]):
                self.assertTrue(figure["holds"] or figure["outside"], figure)
        outside = [figure["what"] for figure in found["figures"] if not figure["holds"]]
        self.assertEqual(outside, ["ib_write of 16K, GB/s", "ib_write of 4M, us", "latency of the same, of round robin's"])
        self.assertGreater(len(found["figures"]), 55)
        self.assertGreater(len(found["remarks"]), 8)


class Clusters(CommandCase):
    def test_the_guides_examples(self):
        """Tables are what the commands above them print."""
        found = BLOCK.findall(read(GUIDES, "planning.md"))
        shown = [(text, table) for (_, text), (kind, table) in zip(found, found[1:]) if text.startswith("nezha simulate ")]
        self.assertEqual(len(shown), 2)
        for text, table in shown:
            self.assertEqual("".join(self.nezha(*line.split()[1:]) for line in text.splitlines()), table)

    def test_table(self):
        text = plain(self.nezha("simulate", *SMALL, "--patterns", "C1,7.5", "--loads", "5,100"))
        self.assertIn("pattern load % Gbit/s in nodes between us in nodes us between most of it C1 5 ", text)
        self.assertRegex(text, r" 7\.5 100 \d+ \d+ 1\d\d\d [\d.]+ [\d.]+ ")  # 126 Gbit/s for each of 8 NICs

    def test_for_scripts_and_again(self):
        words = ("simulate", *SMALL, "--configuration", "1", "--loads", "50", "--patterns", "C1,C5", "--json")
        text = self.nezha(*words, "--jobs", "1")
        self.assertEqual(text, self.nezha(*words, "--jobs", "2"))
        self.assertNotEqual(text, self.nezha(*words, "--seed", "2"))
        found = json.loads(text)
        self.assertEqual(found["settings"]["accelerator_gbps"], 128)
        (busy,), (inside,) = found["patterns"]["C1"], found["patterns"]["C5"]
        self.assertAlmostEqual(busy["gbps"], 8 * 4 * 64, delta=60)
        self.assertEqual(inside["inter_gbps"], 0)
        self.assertEqual(list(busy["inter_parts_us"]), ["source accelerator", "source network", "source NIC", "between nodes",
                                                        "far NIC", "far network", "far accelerator"])

    def test_traffic(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "traffic")
            with open(path, "w", encoding="ascii") as file:
                file.write("nezha-traffic 1\nranks 4\n0 3 1000000\n3 1 1000000 1\n")
            found = json.loads(self.nezha("simulate", "--nodes", "2", "--accelerators", "2", "--traffic", path, "--json"))
            (entry,) = found["traffic"]
            self.assertEqual([entry[name] for name in ("ranks", "messages", "bytes")], [4, 2, 2000000])
            self.assertAlmostEqual(entry["us"], 2 * 1e6 / 128 * 9.3945e-3, delta=5)  # a NIC takes so long for 128 bytes
            with open(path, "a", encoding="ascii") as file:
                file.write("0 3 1000000000000\n")
            done = subprocess.run([COMMAND, "simulate", "--traffic", path], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("packets: 16777216 are allowed; inter_payload is what one of them carries", done.stderr)
            with open(path, "a", encoding="ascii") as file:
                file.write("0 4 1\n")
            for words, text in ((["--traffic", path], f"{path}: line 6: rank 4: 0 to 3 is allowed"),
                                (["--algorithms", "ring"], "'256' ranks: 2 to 128 is allowed"),
                                (["--algorithms", "rings"], "'rings': ring, mesh, halving, doubling, single_step are allowed"),
                                (["--nodes", "1", "--algorithms", "ring", "--sizes", "8,10"], "'10' bytes: multiples of 4 are allowed"),
                                (["--algorithms", "ring", "--sizes", "x"], "size 'x'")):
                with self.subTest(words=words):
                    done = subprocess.run([COMMAND, "simulate", *words], capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn(text, done.stderr)

    def test_a_file_that_is_not_there(self):
        for name in ("nosuch", "q\udcff"):
            done = subprocess.run([COMMAND, "simulate", "--traffic", name], capture_output=True, text=True, errors="surrogateescape",
                                  check=False)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertRegex(done.stderr, r"simulate: (nosuch|q\\udcff) cannot be read: No such file or directory")

    def test_what_a_program_says_may_be_no_utf8(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "q\udcff")
            with open(path, "w", encoding="ascii") as file:
                file.write("no traffic\n")
            done = subprocess.run([COMMAND, "simulate", "--traffic", path], capture_output=True, text=True, errors="replace", check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_allreduce_for_scripts(self):
        found = json.loads(self.nezha("simulate", "--nodes", "2", "--accelerators", "2", "--algorithms", "ring,doubling", "--sizes", "1K",
                                      "--json"))
        self.assertEqual([entry["algorithm"] for entry in found["traffic"]], ["ring", "doubling"])
        self.assertEqual([entry["bytes"] for entry in found["traffic"]], [6 * 1024, 8 * 1024])

    def test_picture(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "load.svg")
            self.nezha("simulate", *SMALL, "--loads", "10,50", "--picture", path)
            with open(path, encoding="utf-8") as file:
                self.assertIn("</svg>", file.read())

    def test_wrong_arguments(self):
        for words, text in ((["--nodes", "0"], "nodes '0': a whole number from 1 to 2048 is allowed"),
                            (["--loads", "10,x"], "load_percent 'x': a number from 0.01 to 100 is allowed"),
                            (["--patterns", "C9"], "'C9': C1 to C5 or a percentage is allowed"),
                            (["--buffer", "5000"], "buffer '5000': with 8 accelerators 37376 or more is allowed"),
                            (["--traffic", "t", "--algorithms", "ring"], "either --traffic or --algorithms is allowed"),
                            (["--algorithms", "ring", "--picture", os.path.join(tempfile.gettempdir(), "load.png")], "--picture: there is one of loads"),
                            (["--nodes", "1", "--accelerators", "1"], "there is nobody to send to")):
            with self.subTest(words=words):
                done = subprocess.run([COMMAND, "simulate", *words], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
