# SPDX-License-Identifier: BSD-3-Clause
"""The bench's other collectives: what the program checks of each, and what contrib/bench makes of --collective."""

import contextlib
import io
import unittest

from bench_case import OnTheLab, mpirun, program
from documents import options as documented
from nezha_bench import choices, cli, summary
from nezha_bench.cases import Case
from nezha_bench.collectives import ALLREDUCE, COLLECTIVES
from nezha_bench.competitors import Launcher, Programs
from nezha_bench.errors import BenchError
from nezha_bench.output import read_json_line
from nezha_lab import limit

# Elements of results, of vectors of 1000 floats, that rank 2 of three has to get.
_LAST_OF = {"reduce_scatter": 333, "allgather": 1001, "bcast": 999, "iallreduce": 999}


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = program("nezha_allreduce_bench")

    def test_each_is_right_with_open_mpi(self):
        for name in COLLECTIVES:
            with self.subTest(collective=name):
                done = mpirun(3, self.path, "--collective", name, "-s", "4,4000,200K", "-i", "3", "-x", "1", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                (_, start), *rows = [read_json_line(line) for line in done.stdout.splitlines()]
                self.assertEqual((start["collective"], [row["size"] for _, row in rows]), (name, [4, 4000, 200 << 10]))

    def test_a_wrong_element_of_the_result_is_found(self):
        for name, element in _LAST_OF.items():
            with self.subTest(collective=name):
                done = mpirun(3, self.path, "--collective", name, "-s", "4000", "-i", "3", "-x", "1", "--corrupt", f"2:2:{element}")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"rank 2: the result of call 2 is wrong at element {element} of ", done.stderr)
        done = mpirun(3, self.path, "--collective", "reduce", "-s", "4000", "-i", "3", "-x", "1", "--corrupt", "0:2:999")
        self.assertIn("rank 0: the result of call 2 is wrong at element 999 of ", done.stderr)

    def test_wrong_arguments(self):
        for words, text in ((["--collective", "alltoall"], "--collective alltoall: allreduce, iallreduce, "),
                            (["--collective", "bcast", "-I"], "--in-place is for allreduces")):
            done = mpirun(1, self.path, *words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)


class Options(unittest.TestCase):
    @staticmethod
    def options(*words):
        return cli.build_parser().parse_args(words)

    def test_the_job_is_told_what_rails_are_to_carry(self):
        case = Case("own", 4, ("1gbit", "1gbit"))
        for name, told in (("bcast", ["--mca", "coll_nezha_collectives", "bcast"]), ("iallreduce", []), (ALLREDUCE, [])):
            words, _ = Launcher(case, Programs("bench", "gloo", "."), choices.effort(self.options("--collective", name))).of("nezha")
            self.assertEqual(words[:3] if told else [word for word in words if "coll_nezha" in word], told)
            self.assertEqual("--collective" in words, name != ALLREDUCE)

    def test_gloo_is_left_out_and_refused(self):
        case = Case("own", 4, ("1gbit", "1gbit"))
        self.assertEqual(choices.wanted(self.options("--collective", "bcast"), case), ["nezha", "ompi-one", "ompi-all"])
        with self.assertRaisesRegex(BenchError, "--collective is not allowed with it"):
            choices.wanted(self.options("--collective", "bcast", "--competitors", "nezha,gloo"), case)

    def test_what_does_not_go_together(self):
        for words, text in ((["--collective", "reduce", "--in-place"], "--in-place is for allreduces"),
                            (["--collective", "reduce", "--osu", "x"], "--collective is not used with it"),
                            (["--collective", "reduce", "--learning"], "--collective is not used with it"),
                            (["--collective", "reduce", "--program", "x"], "about our own program's sizes")):
            parser = cli.build_parser()
            with self.subTest(words=words), self.assertRaisesRegex(BenchError, text):
                choices.check_together(parser.parse_args(words), parser.get_default)
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            self.options("--collective", "alltoall")

    def test_with_a_root_the_slowest_rank_counts(self):
        for name in COLLECTIVES:
            expected = summary.SLOWEST if name in ("bcast", "reduce") else summary.AVERAGE
            self.assertEqual(choices.statistic(self.options("--collective", name)), expected)
        self.assertEqual(choices.statistic(self.options("--collective", "bcast", "--statistic", "median")), summary.MEDIAN)


class Limits(unittest.TestCase):
    def test_an_allreduce_is_both_halves(self):
        rates = [["1gbit", "1gbit"]] * 4
        for nodes in (2, 4, 7):
            traffic = {name: one.traffic(nodes) for name, one in COLLECTIVES.items()}
            self.assertEqual(traffic[ALLREDUCE], traffic["reduce_scatter"] + traffic["allgather"])
            self.assertEqual((traffic["bcast"], traffic["barrier"]), (1, 0))
        size = 16 << 20
        self.assertEqual(limit.allreduce_seconds(size, rates), limit.moved_seconds(size * COLLECTIVES[ALLREDUCE].traffic(4), rates))


class Comparison(OnTheLab):
    def test_another_collective(self):
        """The guide's example, in a shorter form."""
        done, found = self.bench(*documented("contrib/bench --collective"), "--component-dir", self.component_dir(), "--nodes", "2", "--rounds",
                                 "1", "--time", "0.02", "--sizes", "1M", "--nezha-mca", "coll_nezha_learn", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        case = found["cases"][0]["summary"]
        self.assertEqual((case["collective"], case["competitors"]), ("reduce_scatter", ["nezha", "ompi-one", "ompi-all"]))
        self.assertEqual(case["sizes"][0]["competitors"]["nezha"]["carried_by"], "rails")
        self.assertIn("own: reduce_scatter, 2 nodes", done.stdout)


if __name__ == "__main__":
    unittest.main()
