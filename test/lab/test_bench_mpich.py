# SPDX-License-Identifier: BSD-3-Clause
"""MPICH as a competitor in the bench: how it is started, what its processes use, and what is said where it is not there."""

import os
import tempfile
import unittest

from bench_case import OnTheLab, program
from documents import options as documented
from lab_case import make_lab
from nezha_bench import choices, cli
from nezha_bench.cases import PRESETS
from nezha_bench.competitors import Effort, Launcher, Programs
from nezha_bench.errors import BenchError
from nezha_bench.output import read_json_line
from nezha_lab import mpich, openmpi

SIZES = ["-s", "64,1M", "-i", "20", "-x", "2", "--json"]


def wanted(*words):
    options = cli.build_parser().parse_args(words)
    return choices.wanted(options, choices.cases(options)[0])


class Options(unittest.TestCase):
    def test_its_own_program_and_launcher(self):
        launcher = Launcher(PRESETS["4x4"], Programs("m", "g", "c", mpich="own"), Effort((1024,), 0.1, collective="bcast"))
        for who, rails in (("mpich-one", 0), ("mpich", "all")):
            words, keywords = launcher.of(who)
            self.assertEqual(words[:3], ["own", "--collective", "bcast"])
            self.assertEqual(keywords, {"np": 16, "ppn": 4, "incumbent_rails": rails, "by_mpich": True})

    def test_on_one_rail_it_is_one_competitor(self):
        self.assertEqual(wanted("--nodes", "2", "--rail", "1gbit", "--competitors", "nezha,mpich,mpich-one"), ["nezha", "mpich-one"])

    def test_it_runs_no_program_of_open_mpi(self):
        self.assertNotIn("mpich", wanted("--cases", "4x4", "--program", "x"))
        with self.assertRaisesRegex(BenchError, "--program is not allowed with it"):
            wanted("--program", "x", "--competitors", "nezha,mpich")
        self.assertIn("mpich", wanted("--cases", "4x4", "--collective", "bcast"))

    def test_it_is_left_out_where_it_was_not_built(self):
        with tempfile.TemporaryDirectory() as build:
            self.assertIn("install-packages mpich", mpich.why_not(os.path.join(build, "nezha_mpich_bench")))


class Jobs(unittest.TestCase):
    """Its program on nodes of several ranks."""

    @classmethod
    def setUpClass(cls):
        cls.path = program("nezha_mpich_bench")
        cls.lab = make_lab(cls, nodes=3, rails=["none", "none"])

    def bytes_sent(self, **keywords):
        """By node n0 over each rail, in a job whose results are all right."""
        before = [self.lab.nic_bytes(0, rail).sent for rail in (0, 1)]
        done = self.lab.mpirun([self.path, *SIZES], by_mpich=True, timeout=120, **keywords)
        self.assertEqual(done.returncode, 0, done.stderr)
        (_, start), *rows = map(read_json_line, done.stdout.splitlines())
        self.assertIn("MPICH", start["library"])
        self.assertEqual((start["nezha"], [row["size"] for _, row in rows]), (False, [64, 1 << 20]))
        return start, [self.lab.nic_bytes(0, rail).sent - sent for rail, sent in zip((0, 1), before)]

    def test_over_all_rails(self):
        """Of pairs of all nodes, on whichever order of interfaces they were given."""
        start, sent = self.bytes_sent(np=6, ppn=2)
        self.assertEqual((start["ranks"], start["nodes"]), (6, 3))
        self.assertGreater(min(sent), max(sent) / 2)

    def test_over_one_rail(self):
        _, sent = self.bytes_sent(np=3, ppn=1, incumbent_rails=1)
        self.assertGreater(sent[1], 20 << 20)
        self.assertLess(sent[0], 1 << 20)

    def test_within_a_node_nothing_leaves_it(self):
        start, sent = self.bytes_sent(np=4, ppn=4)
        self.assertEqual((start["ranks"], start["nodes"]), (4, 1))
        self.assertLess(max(sent), 64 << 10)

    def test_mpirun_stays_open_mpis(self):
        self.assertGreaterEqual(openmpi.major(), 4)


class Comparison(OnTheLab):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program("nezha_mpich_bench")

    def test_beside_open_mpi(self):
        """The guide's example, in a shorter form."""
        done, found = self.bench(*documented("contrib/bench --competitors nezha,ompi-all,mpich-one"), "--subject", "ompi-all", "--nodes", "2",
                                 "--rounds", "1", "--time", "0.02", "--component-dir", self.component_dir())
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertLessEqual({"ompi-all", "mpich-one", "mpich"}, set(found["cases"][0]["rounds"][0]))
        self.assertRegex(done.stdout, "MPICH one us .*MPICH all us")


if __name__ == "__main__":
    unittest.main()
