# SPDX-License-Identifier: BSD-3-Clause
# long
"""The bench's programs on this host, and the comparison as a whole on the lab."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from bench_case import BENCH_COMMAND, BUILD, HERE, OnTheLab, mpirun, program
from documents import options
from lab_case import eventually, heed_ctrl_c
from nezha_bench.output import read_json_line
from nezha_lab import Lab, state


class MpiProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = program("nezha_allreduce_bench")

    def test_osu_format(self):
        done = mpirun(3, self.path, "-m", "4:64", "-i", "20", "-x", "2", "-f")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines() if line and not line.startswith("#")]
        self.assertEqual([int(line[0]) for line in lines], [4, 8, 16, 32, 64])
        for _, average, least, most, iterations in lines:
            self.assertTrue(0 < float(least) <= float(average) <= float(most))
            self.assertEqual(iterations, "20")
        self.assertRegex(done.stdout, r"# Size +Avg Latency\(us\) +Min Latency\(us\) +Max Latency\(us\) +Iterations\n")

    def test_json(self):
        done = mpirun(2, self.path, "-s", "12,1M", "-T", "0.05", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        (_, start), *rows = [read_json_line(line) for line in done.stdout.splitlines()]
        self.assertEqual((start["ranks"], start["nezha"]), (2, False))
        self.assertEqual([row["size"] for _, row in rows], [12, 1 << 20])
        for _, row in rows:
            self.assertGreaterEqual(row["iterations"], 3)
            self.assertTrue(0 < row["cpu_s_per_gib"] <= row["cpu_s_per_gib_max"])
            self.assertGreater(row["peak_kib"], 1024)

    def test_rest_between_calls(self):
        done = mpirun(2, self.path, "-s", "64", "-i", "5", "-x", "1", "--rest", "4.5", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(read_json_line(done.stdout.splitlines()[1])[1]["pause_us"], 4500)

    def test_types_and_operations_are_right_with_open_mpi(self):
        """Each type and each operation in place and not, by turns."""
        pairs = itertools.product(("float", "double", "int", "long"), ("sum", "max", "min"))
        for (kind, op), place in zip(pairs, itertools.cycle(([], ["-I"]))):
            with self.subTest(type=kind, op=op, place=place):
                done = mpirun(3, self.path, "-s", "8,1000,200K", "-i", "3", "-x", "1", "-t", kind, "-o", op, *place)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_one_wrong_element_is_found(self):
        # 4 calls per size: calls 4 to 7 are those of 256 KiB, 32768 doubles
        for kind, op, place in (("float", "sum", []), ("double", "max", ["-I"]), ("int", "min", []), ("long", "sum", ["-I"])):
            with self.subTest(type=kind, op=op, place=place):
                done = mpirun(2, self.path, "-s", "64,256K", "-i", "3", "-x", "1", "-t", kind, "-o", op, *place,
                              "--corrupt", "1:6:32767")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("rank 1: the result of call 6 is wrong at element 32767 of ", done.stderr)

    def test_wrong_arguments(self):
        for words in (["-s", "0"], ["-m", "8:4"], ["-t", "quad"], ["-T", "x"], ["--rest", "-1"], ["stray"], ["--corrupt", "1:2"]):
            with self.subTest(words=words):
                done = mpirun(1, self.path, *words)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words[-1], done.stderr)


class GlooProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = program("nezha_gloo_bench")

    def test_every_algorithm_is_right(self):
        """Each at a small, a middle and a large size, which are its own: then one launch is enough for all."""
        for ranks in (2, 3, 4):
            names = ["new_ring", "new_bcube", "ring", "ring_chunked", "halving_doubling"] + (["bcube"] if ranks != 3 else [])
            ways = [way for name in names for way in (name, f"{name}@one")]
            plan = {least + 4 * number: way for least in (4, 1000, 200 << 10) for number, way in enumerate(ways)}
            with self.subTest(ranks=ranks):
                done = mpirun(ranks, self.path, "--rails", "lo,lo", "--shares", "2,1", "-s", ",".join(map(str, plan)), "-i", "3",
                              "-x", "1", "--plan", ",".join(f"{size}={way}" for size, way in plan.items()), "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                rows = [read_json_line(line)[1] for line in done.stdout.splitlines()[1:]]
                self.assertEqual({row["size"]: row["algorithm"] for row in rows}, plan)

    def test_trial(self):
        done = mpirun(2, self.path, "--rails", "lo,lo", "-s", "4,64K", "-T", "0.05", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [read_json_line(line)[1] for line in done.stdout.splitlines()[1:]]
        self.assertEqual([row["size"] for row in rows], [4, 65536])
        for row in rows:
            self.assertRegex(row["algorithm"], "^(new_ring|new_bcube|ring|ring_chunked|halving_doubling|bcube)(@one)?$")

    def test_wrong_element_is_found(self):
        done = mpirun(2, self.path, "--rails", "lo", "-s", "4K", "-i", "3", "-x", "1", "--plan", "4K=new_ring",
                      "--corrupt", "0:2:1000")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 0: the result of call 2 is wrong at element 1000 of 1024", done.stderr)

    def test_wrong_arguments(self):
        for words, text in ((["--shares", "1"], "one positive number per rail"), (["--plan", "4-ring"], "SIZE=ALGORITHM"),
                            (["--plan", "4=star"], 'no algorithm "star"'), (["-t", "int"], "sums floats only")):
            with self.subTest(words=words):
                done = mpirun(2, self.path, "--rails", "lo,lo", "-s", "4", *words)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(text, done.stderr)


class Comparison(OnTheLab):
    """Where there is one README's command, in a shorter form. Whether calls came to the rails is not what this is about: in so few
    it may be that none did."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def test_beside_all_others(self):
        done, found = self.bench(*options("contrib/bench --quick"), "--component-dir", self.component_dir(), "--nodes", "2",
                                 "--rail", "1gbit", "--rail", "500mbit", "--rounds", "1", "--sizes", "4,256K",
                                 "--time", "0.02", "--memory", "--picture", "bench.png", cwd=self.place)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        case = found["cases"][0]
        self.assertLessEqual({"nezha", "again", "ompi-one", "ompi-all"}, set(case["rounds"][0]))
        self.assertEqual([row["size"] for row in case["summary"]["sizes"]], [4, 262144])
        # 256 KiB between two nodes: 262144 bytes at 1.5 * 957 Mbit/s, less what two buckets hold after the pauses that there were.
        whole = 262144 / 0.957 * 8 / 1500
        self.assertTrue(whole - 262144 * 8 / 1500 - 1 < case["summary"]["sizes"][1]["limit_us"] < whole + 1)
        self.assertGreater(case["summary"]["memory"]["processes"]["ompi-all"]["socket_kib"], 0)
        self.assertIn("256K", done.stdout)
        self.assertTrue(os.path.getsize(os.path.join(self.place, "bench.png")))

    def test_named_clusters(self):
        done = self.run_bench(*options("contrib/bench --cases"), "--component-dir", self.component_dir(), "--competitors", "nezha",
                              "--rounds", "1", "--sizes", "1M", "--iterations", "5", "--warmup", "5", cwd=self.place)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        with open(os.path.join(self.place, "bench.json"), encoding="utf-8") as file:
            self.assertEqual([case["summary"]["case"]["name"] for case in json.load(file)["cases"]], ["1+0.5", "slow-node"])

    def test_kinds_of_rails(self):
        done, found = self.bench(*options("contrib/bench --competitors nezha,nezha-one,nezha-ofi"), "--component-dir", self.component_dir(),
                                 "--nodes", "2", "--rounds", "1", "--sizes", "64K", "--time", "0.02")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertLessEqual({"nezha", "nezha-one", "nezha-ofi", "nezha-rdm", "nezha-btl", "ompi-one"}, set(found["cases"][0]["rounds"][0]))

    def test_the_table_of_the_readme(self):
        done, found = self.bench(*options("contrib/bench --rounds 7"), "--component-dir", self.component_dir(), "--nodes", "2", "--rounds", "1",
                                 "--time", "0.02")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertEqual([row["size"] for row in found["cases"][0]["summary"]["sizes"]], [4 << 10, 256 << 10, 16 << 20])

    def test_several_ranks_on_a_node(self):
        """What this Open MPI lacks is left out with a word; memory carries the calls of one node."""
        done, found = self.bench(*options("contrib/bench --cases 4x4"), "--component-dir", self.component_dir(), "--rounds", "1",
                                 "--sizes", "64", "--time", "0.02")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        for case in found["cases"]:
            self.assertLessEqual({"nezha", "again", "ompi-one", "han-one"}, set(case["rounds"][0]), done.stderr)
            self.assertEqual(case["rounds"][0]["nezha"]["header"]["ranks"], case["summary"]["case"]["nodes"] * 4)
        alone = found["cases"][1]
        self.assertEqual(alone["summary"]["case"]["name"], "node-4")
        if alone["rounds"][0]["nezha"]["header"].get("nezha"):
            self.assertNotEqual(alone["summary"]["sizes"][0]["competitors"]["nezha"]["carried_by"], "incumbent")

    def test_only_measured_calls_count_as_carried(self):
        """Rails carry the warm-up of 8 KiB, and the times of 2500 calls to rank 0, which are 20000 bytes."""
        table = os.path.join(self.place, "table.json")
        rule = {"msg_size_min": 1024, "msg_size_max": 2047, "alg": "incumbent"}
        with open(table, "w", encoding="ascii") as file:
            json.dump({"rule_file_version": 1, "module": "nezha", "collectives": {"allreduce": [{"rules": [rule]}]}}, file)
        done, found = self.bench("--component-dir", self.component_dir(), "--nodes", "2", "--unshaped", "--competitors", "nezha", "--rounds",
                                 "1", "--sizes", "1K,8K", "--iterations", "2500", "--warmup", "50", "--nezha-mca", "coll_nezha_learn", "0",
                                 "--nezha-mca", "coll_nezha_table", table)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        for launch in found["cases"][0]["rounds"][0].values():
            self.assertEqual(launch["sizes"]["1024"]["nezha_calls"], 0)
            self.assertLessEqual(launch["sizes"]["8192"]["nezha_calls"], 2500)
        self.assertRegex(done.stdout, r"(?m)^ +1K +[\d.]+ i ")

    def test_an_osu_program(self):
        """Ours takes OSU's options and prints OSU's format, so it can stand for one: all powers of two of a range."""
        os.symlink(program("nezha_allreduce_bench"), os.path.join(self.place, "osu_allreduce"))
        words = [word.replace("PATH/", f"{self.place}/") for word in options("contrib/bench --osu")]
        done, found = self.bench(*words, "--subject", "ompi-all", "--competitors", "ompi-all", "--nodes", "2", "--rounds", "2",
                                 "--sizes", "4,16,64", "--iterations", "20", "--warmup", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        case = found["cases"][0]
        self.assertEqual([row["size"] for row in case["summary"]["sizes"]], [4, 16, 64])
        row = case["rounds"][0]["ompi-all"]["sizes"]["64"]
        self.assertEqual(row["iterations"], 20)
        self.assertTrue(0 < row["min_us"] <= row["avg_us"] <= row["max_us"])

    def test_ctrl_c(self):
        """As from a terminal: the signal goes to the bench and to what it has started alike."""
        command = [sys.executable, BENCH_COMMAND, "--build", BUILD, "--subject", "ompi-all", "--competitors", "ompi-all", "--nodes", "2",
                   "--rounds", "1", "--sizes", "64K", "--time", "600"]
        before = state.names()
        with subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              preexec_fn=heed_ctrl_c) as bench:
            try:
                self.assertTrue(eventually(lambda: self.ranks(before) == 2, 60))
            finally:
                os.killpg(bench.pid, signal.SIGINT)
            errors = bench.communicate(timeout=60)[1]
        self.assertEqual(bench.returncode, 130, errors)
        self.assertNotIn("Traceback", errors)
        self.assertEqual(state.names(), before)

    @staticmethod
    def ranks(before):
        """How many processes of the benchmark there are in the lab that was not there before."""
        labs = [name for name in state.names() if name not in before and (state.load(name) or {}).get("ready")]
        return sum(len(Lab.attach(name).pids(program="nezha_allreduce_bench")) for name in labs)

    def test_a_nezha_that_is_not_there_is_told(self):
        done, found = self.bench("--component-dir", self.component_dir(), "--competitors", "nezha", "--nodes", "2", "--rounds", "1",
                                 "--sizes", "1M", "--time", "0.02", "--nezha-mca", "coll", "^nezha")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('INVALID: the column "Nezha" is not about Nezha', done.stdout)
        self.assertIn("was not in use", found["cases"][0]["summary"]["invalid"]["nezha"])

    def test_another_build(self):
        """Whether its column is about that build: it is not about Nezha at all where that build's component cannot be loaded."""
        own = self.component_dir()
        other = os.path.join(self.place, "component")
        shutil.copytree(own, other)
        _, _, *words = options("contrib/bench --against")
        arguments = ("--against", self.place, *words, "--component-dir", own, "--competitors", "nezha", "--nodes", "2", "--rounds", "1",
                     "--sizes", "1M", "--time", "0.02")
        done, found = self.bench(*arguments)
        self.assertEqual(found["cases"][0]["summary"]["competitors"], ["nezha", "nezha-other"], done.stderr)
        self.assertRegex(done.stdout, r"size +Nezha us .* Nezha other us +/ Nezha")
        self.assertNotIn("was not in use", done.stdout)
        with open(os.path.join(other, "mca_coll_nezha.so"), "w", encoding="ascii") as file:
            file.write("no component")
        done, found = self.bench(*arguments)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("was not in use in 1 of 1 launches", found["cases"][0]["summary"]["invalid"]["nezha-other"])

    def test_instructions(self):
        """Figures, or in a sentence why there are none; beside the comparison with a thread per rail."""
        done, found = self.bench(*options("contrib/bench --unshaped"), "--component-dir", self.component_dir(), "--nodes", "2",
                                 "--rounds", "1", "--sizes", "1K", "--time", "0.02", "--instructions")
        self.assertIsNotNone(found, done.stderr)
        self.assertRegex(done.stdout, r"size +Nezha us +Nezha threads us +/ Nezha")
        counted = found["cases"][0]["summary"]["instructions"]
        self.assertRegex(done.stdout, r"Instructions were not counted: \w" if "missing" in counted else
                         r"Nezha's instructions at 4K: \d+ \[.*\nNezha's instructions at 4M: \d+ \[")

    def test_wrong_arguments(self):
        for words, text in ((["--cases", "none-such"], "case 'none-such'"), (["--sizes", "0"], "size '0'"),
                            (["--cases", "1+1", "--nodes", "3"], "--cases names whole clusters"),
                            (["--subject", "ompi-all", "--rail", "fast"], "'fast'"),
                            (["--competitors", "nezha,mvapich"], "competitor 'mvapich'"),
                            (["--competitors", "gloo,ompi-all,gloo"], "competitor 'gloo': it is named twice"),
                            (["--against", HERE], f"--against {HERE}: there is no mca_coll_nezha.so in {HERE} or {HERE}/component"),
                            (["--competitors", "nezha,nezha-other"], "nezha-other is of another build: --against says which"),
                            (["--osu", HERE], f"--osu {HERE}: there is no such program")):
            with self.subTest(words=words):
                done, _ = self.bench(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(text, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
