# SPDX-License-Identifier: BSD-3-Clause
"""contrib/demo: what it finds out before it installs and builds, and what it tells of its measurements."""

import io
import json
import os
import subprocess
import tempfile
import unittest
from unittest import mock

from bench_case import TOP, launch, measured, mpirun, program
from rich.console import Console

from nezha_bench import demo, story, summary
from nezha_bench.cases import PRESETS
from nezha_bench.competitors import Effort, Launcher, Programs

DEMO = os.path.join(TOP, "contrib", "demo")
WHO = ("nezha", "nezha-one", "ompi-one", "ompi-all")


class Before(unittest.TestCase):
    def demonstrate(self, *words, **programs):
        """Status, what it said, and whether it began to install. programs: shell scripts in the place of others."""
        with tempfile.TemporaryDirectory() as place:
            began = os.path.join(place, "began")
            for name, text in {"apt-get": f"touch {began}; exit 1", "dpkg-query": f"touch {began}; exit 1", **programs}.items():
                with open(os.path.join(place, name), "w", encoding="ascii") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
                os.chmod(file.name, 0o755)
            done = subprocess.run([DEMO, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}"})
            return done.returncode, done.stdout + done.stderr, os.path.exists(began)

    def test_without_namespaces_nothing_is_installed(self):
        status, said, began = self.demonstrate(unshare="echo unshare: Operation not permitted >&2; exit 1")
        self.assertEqual((status, began), (77, False), said)
        self.assertIn("does not allow them here (unshare: Operation not permitted); nothing was installed or built", said)

    def test_wrong_arguments_are_told_before(self):
        for words in (["--pictures", "a.png"], ["--picture", "/nonexistent/a.png"], ["--picture", "a.pgn"]):
            status, said, began = self.demonstrate(*words)
            self.assertEqual((status, began), (2, False), said)

    def test_with_namespaces_it_goes_on(self):
        """Up to dpkg-query, which fails here."""
        status, said, began = self.demonstrate(unshare="exit 0")
        self.assertTrue(began, said)
        self.assertNotIn(status, (0, 77))


class Settled(unittest.TestCase):
    def warmups(self, *words):
        """{size: calls before the measured ones}; in a millisecond a size the usual ones are few."""
        done = mpirun(2, program("nezha_allreduce_bench"), "--json", "-s", "1K,128K", "-T", "0.001", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return {line["size"]: line["warmup"] for line in found if line["kind"] == "size"}

    def test_small_sizes_are_called_until_they_get_no_faster(self):
        usual, settled = self.warmups(), self.warmups("--settle")
        self.assertLess(usual[1024], 150)
        self.assertGreaterEqual(settled[1024], 150)  # three batches of 50 at least
        self.assertLess(settled[128 << 10], 150)

    def test_the_demonstration_asks_for_that(self):
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024,), 0.1, settled=True))
        self.assertIn("--settle", launcher.of("nezha")[0])
        with (mock.patch("nezha_bench.rounds.measure") as measure, mock.patch.object(Programs, "check"), mock.patch("nezha_bench.summary.summarise"),
              mock.patch("nezha_bench.cases.Case.lab")):
            demo._measure("build", mock.MagicMock())
        self.assertTrue(measure.call_args.args[1].effort.settled)


class Story(unittest.TestCase):
    def told(self, count, interrupted=False):
        times = {4096: 100.0, 16 << 20: 100000.0}
        launches = [{who: launch(who, times, {4096: 10, 16 << 20: 10} if who.startswith("nezha") else None) for who in (*WHO, "again")}
                    for _ in range(count)]
        run = measured(launches, {4096: 0.0, 16 << 20: 0.05})
        run.interrupted = interrupted
        out = io.StringIO()
        console = Console(file=out, width=200)
        story.show(summary.summarise(run), "demo.png", demo.MOST_ROUNDS, console)
        return out.getvalue()

    def test_fewer_rounds_are_told(self):
        self.assertIn("Rounds made: 2 of 5, because", self.told(2))
        self.assertNotIn("Rounds made", self.told(demo.MOST_ROUNDS))

    def test_the_header_says_what_is_compared(self):
        text = self.told(demo.MOST_ROUNDS)
        header = next(line for line in text.splitlines() if line.lstrip().startswith("size"))
        self.assertRegex(header, "Nezha, one rail / two rails$")
        self.assertNotIn("gain", text)


if __name__ == "__main__":
    unittest.main()
