# SPDX-License-Identifier: BSD-3-Clause
"""nezha bench on two emulated nodes: both columns are there, and what did not run over the rails is said to be invalid."""

import contextlib
import functools
import io
import json
import os
import pty
import sys
import tempfile
import unittest
from unittest import mock

from bench_case import LIMITS, launch, measured, program, rounds
from command_case import CommandCase
from lab_case import make_lab

from nezha_bench.cases import PRESETS
from nezha_bench.competitors import Effort, Launcher, Programs
from nezha_command import bench, cli, terminal

SHORT = ("--sizes", "1K,256K", "--rounds", "2", "--time", "0.05")
WHERE = ("--", "-np", "2", "--host", "n0:1,n1:1", "--mca", "btl_tcp_if_include", "mgmt")


class Interrupted(unittest.TestCase):
    def test_what_is_complete_is_shown_and_the_status_is_that_of_ctrl_c(self):
        times = {1024: 50.0}
        found = measured([{"nezha": launch("nezha", times, {1024: 0}), "again": launch("nezha", times, {1024: 0}),
                           "ompi": launch("ompi", times)}], {1024: 0.0})
        found.interrupted = True
        options = cli.build_parser().parse_args(["bench", "--sizes", "1K"])
        options.mpirun = []
        with (mock.patch("nezha_bench.rounds.measure", return_value=found), mock.patch("nezha_command.cluster.Launcher"),
              mock.patch("nezha_command.cluster.Cluster"), mock.patch("nezha_bench.table.print_summary") as shown):
            self.assertEqual(bench.run(options), 130)
        shown.assert_called_once()


class Lost(unittest.TestCase):
    """Standard error that is lost while something is measured: a terminal, which rich still takes for one, and a pipe."""

    KINDS = (pty.openpty, {"FORCE_COLOR": "1"}), (os.pipe, {})

    @contextlib.contextmanager
    def standard_error(self, kind, variables):
        """A function that closes its other end."""
        reader, writer = kind()
        with (open(writer, "w", encoding="utf-8") as stream, mock.patch.object(sys, "stderr", stream),
              mock.patch.dict(os.environ, variables)):
            yield functools.partial(os.close, reader)

    def test_what_was_measured_is_kept(self):
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024, 1 << 20), 0.1))
        for kind in self.KINDS:
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as place, self.standard_error(*kind) as lose:
                def measure(*words):
                    lose()
                    words[-1].launch(0, 1, "nezha")
                    return measured(rounds(), LIMITS)

                options = cli.build_parser().parse_args(["bench", "--json", os.path.join(place, "bench.json")])
                options.mpirun = []
                with (mock.patch("nezha_bench.rounds.measure", measure), mock.patch("nezha_command.cluster.Cluster"),
                      mock.patch("nezha_command.cluster.Launcher", return_value=launcher), contextlib.redirect_stdout(io.StringIO())):
                    self.assertEqual(bench.run(options), 0)
                with open(options.json, encoding="utf-8") as file:
                    self.assertEqual(len(json.load(file)["cases"][0]["rounds"]), 6)

    def test_other_work_goes_on(self):
        for kind in self.KINDS:
            with self.subTest(kind=kind), self.standard_error(*kind) as lose, terminal.Progress() as progress:
                lose()
                for number in range(2):
                    progress.step(f"step {number}")


class Bench(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program("nezha_allreduce_bench")
        cls.lab = make_lab(cls, nodes=2, rails=["200mbit", "200mbit"])

    def test_with_and_without(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "bench.json")
            text = self.nezha_in(self.lab, "bench", *SHORT, "--json", path, *WHERE,
                                 env={"OMPI_MCA_coll_nezha_rail_include": "eth0,eth1", "OMPI_MCA_coll_nezha_learn": "0"})
            with open(path, encoding="utf-8") as file:
                summary = json.load(file)["cases"][0]["summary"]
            page = os.path.join(directory, "page.html")
            self.nezha("report", path, "--output", page)
            self.assertTrue(os.path.getsize(page))
        self.assertIn("2 ranks, 2 rounds", text)
        self.assertEqual(summary["invalid"], {})
        large = summary["sizes"][1]["competitors"]
        self.assertEqual(set(large), {"nezha", "ompi"})
        self.assertEqual(large["nezha"]["carried_by"], "rails")

    def test_a_column_that_is_not_about_nezha(self):
        text = self.nezha_in(self.lab, "bench", *SHORT, "--mca", "coll_nezha_rail_include", "eth99", *WHERE, status=1)
        self.assertIn('INVALID: the column "Nezha" is not about Nezha', text)

    def test_a_job_that_fails(self):
        self.nezha_in(self.lab, "bench", *SHORT, "--", "-np", "2", "--host", "no-such-node:2", status=3)


if __name__ == "__main__":
    unittest.main()
