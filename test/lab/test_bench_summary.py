# SPDX-License-Identifier: BSD-3-Clause
"""From launches to what is printed: ratios, percentages, and columns that are not what they claim; needs no lab."""

import contextlib
import dataclasses
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from bench_case import CARRIED, LIMITS, SIZES, launch, measured, rounds
from lab_case import PYTHON_DIR, script
from nezha_bench import (carried, choices, cli, compare, competitors, demo, document, instructions, memory, picture, progress, stats, story, summary,
                         table)
from nezha_bench.cases import PRESETS, Case, presets
from nezha_bench.competitors import Effort, Launcher, Programs
from nezha_bench.errors import BenchError
from nezha_bench.launch import Followed
from nezha_bench.output import OsuReader, read_json_line
from nezha_bench.rounds import Measured, measure
from nezha_bench.sizes import parse_sizes, size_text
from nezha_lab.limit import Rhythm
from rich.console import Console


class Options(unittest.TestCase):
    def refused(self, *words):
        parser = cli.build_parser()
        with self.assertRaises(BenchError) as caught:
            choices.check_together(parser.parse_args(words), parser.get_default)
        return str(caught.exception)

    def test_what_would_not_be_used_is_an_error(self):
        for words in (["--competitors", "nezha"], ["--subject", "ompi-one"], ["--cores", ""], ["--against", "."], ["--osu", "x"],
                      ["--statistic", "median"], ["--time", "1"], ["--iterations", "9"], ["--warmup", "0"], ["--memory"],
                      ["--instructions"], ["--json", "x"], ["--picture", "x.png"]):
            self.assertIn(f"{words[0]} is not used with it", self.refused("--learning", *words))
        for words in (["--time", "1"], ["--in-place"], ["--memory"], ["--instructions"]):
            self.assertIn(f"{words[0]} is not used with it", self.refused("--osu", "x", *words))
        self.assertIn("--time is not used with it", self.refused("--time", "1", "--iterations", "9"))
        self.assertIn("--from is about a program's run", self.refused("--from", "3"))
        self.assertIn("--in-place is about our own program's sizes", self.refused("--program", "true", "--in-place"))

    def test_what_would_stand_for_the_default_is_an_error(self):
        for words in (["--time", "0"], ["--limit", "0"], ["--nodes", "0"], ["--limit", "-1"], ["--rounds", "0"], ["--warmup", "-1"]):
            with self.subTest(words=words), contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
                cli.build_parser().parse_args(words)

    def test_a_picture_without_matplotlib(self):
        with tempfile.TemporaryDirectory() as place:
            script = "import sys; sys.modules['matplotlib'] = None; from nezha_bench import cli; sys.exit(cli.main())"
            done = subprocess.run([sys.executable, "-c", script, "--picture", os.path.join(place, "bench.png")], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": PYTHON_DIR}, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (77, "bench: Python's module matplotlib is missing: contrib/install-packages demo\n"))

    def test_what_goes_together(self):
        parser = cli.build_parser()
        for words in (["--learning", "--rounds", "2", "--in-place", "--quick"], ["--osu", "x", "--iterations", "9", "--warmup", "0"],
                      ["--program", "true", "--from", "0", "--limit", "1", "--json", "x"]):
            choices.check_together(parser.parse_args(words), parser.get_default)


class Summary(unittest.TestCase):
    def setUp(self):
        self.found = summary.summarise(measured(rounds(), LIMITS))

    def test_rows(self):
        small, large = self.found["sizes"]
        self.assertEqual((small["size"], large["size"]), (1024, 1 << 20))
        other = large["competitors"]["ompi-all"]
        self.assertAlmostEqual(other["over_subject"]["median"], 2.0)
        self.assertEqual(other["subject_is"], stats.FASTER)
        self.assertEqual(large["best_competitor"], "ompi-all")
        self.assertAlmostEqual(large["noise_floor"], 0.0)
        self.assertAlmostEqual(self.found["middle_gain"], 2.0)

    def test_percentage_of_the_limit_only_where_there_is_one(self):
        small, large = self.found["sizes"]
        self.assertNotIn("of_limit", small["competitors"]["nezha"])
        # rounds take 6000 to 9000 us; the middle two 7200 and 7800
        self.assertAlmostEqual(large["competitors"]["nezha"]["of_limit"]["median"], (5000 / 7200 + 5000 / 7800) / 2)

    def test_no_round_is_an_error(self):
        with self.assertRaisesRegex(BenchError, "no round was completed"):
            summary.summarise(Measured(PRESETS["1+1"], "nezha", ["nezha"]))

    def test_the_limit_is_that_of_the_calls_with_the_longest_pauses(self):
        asked = []
        lab = mock.Mock(limit_seconds=lambda size, ranks, **beside: asked.append(beside) or 0.0)

        def limits(**members):
            calls = [launch(who, SIZES) for who in 3 * ["nezha", "nezha", "ompi-all"]]
            for each in calls:
                for found in each.sizes.values():
                    found.update({name: value[each.competitor] for name, value in members.items()})
            asked.clear()
            launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024,), 0.1))
            order = {who: iter([one for one in calls if one.competitor == who]) for who in ("nezha", "ompi-all")}
            with progress.make("case", "nezha", 1, 1, quiet=True) as seen:
                measure(lab, launcher, "nezha", ["nezha", "ompi-all"], 3, seen, run=lambda *words: next(order[words[2]]))
            return asked

        self.assertEqual(limits(pause_us={"nezha": 200.0, "ompi-all": 300.0}, iterations={"nezha": 50, "ompi-all": 20}),
                         [{"rhythm": Rhythm(20, 300e-6)}])
        self.assertEqual(limits(iterations={"nezha": 50, "ompi-all": 20}), [{}])

    def test_ctrl_c_and_signals_keep_the_rounds_that_are_complete(self):
        class NoLab:
            limit_seconds = staticmethod(lambda size, ranks: 0.0)

        def interrupted_in(number, by):
            calls = iter([launch("nezha", SIZES)] * (number - 1) + [by])
            launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024,), 0.1))
            with progress.make("case", "nezha", 1, 1, quiet=True) as seen:
                return measure(NoLab(), launcher, "nezha", ["nezha"], 3, seen, run=mock.Mock(side_effect=calls))

        for by in KeyboardInterrupt, SystemExit:  # the latter: SIGTERM and SIGHUP
            found = interrupted_in(4, by)  # a round is two launches
            self.assertEqual((len(found.rounds), found.interrupted), (1, True))
            with self.assertRaises(by):
                interrupted_in(2, by)

    def test_ctrl_c_and_signals_after_the_rounds_keep_them(self):
        options = cli.build_parser().parse_args(["--memory", "--instructions"])
        for by in KeyboardInterrupt, SystemExit:
            for part in memory, instructions:
                with (mock.patch.object(compare.rounds, "measure", return_value=measured(rounds(), LIMITS)),
                      mock.patch.object(compare, "_wanted", return_value=["nezha"]), mock.patch.object(compare.aggregator, "beside"),
                      mock.patch.object(memory, "measure"), mock.patch.object(instructions, "measure"),
                      mock.patch.object(part, "measure", side_effect=by), contextlib.redirect_stderr(io.StringIO())):
                    run, _ = compare.compare(options, mock.MagicMock(processes=4), mock.Mock(), Effort((1024,), 0.1))
                self.assertEqual((len(run.rounds), run.interrupted, run.failure), (6, True, None))

    def test_a_demonstration_that_ctrl_c_has_ended_says_so(self):
        for interrupted, status in ((False, 0), (True, 130)):
            with (mock.patch.object(demo, "_measure", return_value=({**self.found, "interrupted": interrupted}, None)),
                  mock.patch.object(picture, "draw"), mock.patch.object(story, "show"), mock.patch.object(demo, "leave_on_signals"),
                  mock.patch("sys.argv", ["demo", "--build", "build"]), contextlib.redirect_stdout(io.StringIO())):
                self.assertEqual(demo.main(), status)

    def test_plain_table(self):
        out = io.StringIO()
        table.print_summary(self.found, Console(file=out, width=80))
        lines = out.getvalue().splitlines()
        row = next(line for line in lines if line.strip().startswith("1M"))
        self.assertIn("2.000 [2.000 2.000] +", row)
        self.assertIn("62.5 i", next(line for line in lines if line.strip().startswith("1K")))
        self.assertNotIn("INVALID", out.getvalue())

    def test_document_is_json_and_whole(self):
        run = measured(rounds(), LIMITS)
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024, 1 << 20), 0.1))
        whole = document.start()
        document.add_case(whole, run, self.found, launcher)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "bench.json")
            document.write(whole, path)
            with open(path, encoding="utf-8") as file:
                read = json.load(file)
            for suffix in ("png", "svg"):
                picture.draw(self.found, f"{directory}/bench.{suffix}")
                self.assertGreater(os.path.getsize(f"{directory}/bench.{suffix}"), 10000)
        case = read["cases"][0]
        self.assertEqual(case["rounds"][2]["ompi-all"]["sizes"]["1024"]["avg_us"], 1.2 * 50 * 1.5)
        self.assertEqual(case["summary"]["sizes"][1]["competitors"]["nezha"]["carried_by"], carried.RAILS)

    def test_each_competitor_has_a_look(self):
        self.assertLessEqual(set(competitors.LABELS), set(picture.LOOKS))


class Threads(unittest.TestCase):
    """With core lists Nezha is compared without threads and with one per rail."""

    def words(self, competitor, cores):
        launcher = Launcher(PRESETS["unshaped"], Programs("m", "g", "c"), Effort((1024,), 0.1), cores=cores)
        return " ".join(launcher.of(competitor)[0])

    def test_parameters(self):
        self.assertIn("--mca coll_nezha_rail_threads 0 m ", self.words("nezha", "eth0=1"))
        self.assertIn("--mca coll_nezha_rail_threads 1 --mca coll_nezha_rail_cores eth0=1 m ", self.words("nezha-threads", "eth0=1"))
        self.assertIn("--mca coll_nezha_rail_threads 1 m ", self.words("nezha-threads", ""))
        self.assertNotIn("rail_threads", self.words("nezha", None))


class Kinds(unittest.TestCase):
    """Rails of other kinds than TCP, as competitors."""

    def of(self, competitor):
        words, keywords = Launcher(PRESETS["1+0.5"], Programs("m", "g", "c"), Effort((1024,), 0.1)).of(competitor)
        return " ".join(words), keywords

    def test_parameters(self):
        self.assertIn("--mca coll_nezha_rail_include ofi/eth0,ofi/eth1 m ", self.of("nezha-ofi")[0])
        self.assertIn("--mca coll_nezha_rail_include ofi/tcp;ofi_rxm:eth0,ofi/tcp;ofi_rxm:eth1 m ", self.of("nezha-rdm")[0])
        words, keywords = self.of("nezha-btl")
        self.assertIn("--mca pml ob1 --mca coll_nezha_btl 1 --mca coll_nezha_rail_include btl/0 m ", words)
        self.assertEqual(keywords["incumbent_rails"], 0)

    def test_one_rail_is_all_that_there_is(self):
        """Where Open MPI's own allreduce had both it was faster for some sizes, and the figures were not Nezha's."""
        words, keywords = self.of("nezha-one")
        self.assertIn("--mca coll_nezha_rail_include eth0 m ", words)
        self.assertEqual(keywords["incumbent_rails"], 0)
        self.assertNotIn("incumbent_rails", self.of("nezha")[1])


class Instructions(unittest.TestCase):
    def test_rank_0_alone_is_under_valgrind(self):
        words = instructions.wrapped(["--mca", "a", "b", "/program", "-s", "4096"], "/program")
        self.assertEqual(words[:3] + words[-3:], ["--mca", "a", "b", "/program", "-s", "4096"])
        with tempfile.TemporaryDirectory() as place:
            script(place, "valgrind", 'echo under "$@"')
            for rank, expected in (("0", r"under --tool=callgrind .* echo hello\n"), ("1", r"hello\n")):
                env = {"PATH": f"{place}:{os.environ['PATH']}", "OMPI_COMM_WORLD_RANK": rank}
                command = instructions.wrapped(["echo", "hello"], "echo")
                self.assertRegex(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout, f"^{expected}$")

    def test_counts(self):
        done = Followed(0, False, 1.0, "==9== Events    : Ir\n==9== Collected : 848506\n")
        self.assertEqual(instructions.counted(done), 848506)
        for wrong in (Followed(1, False, 1.0, done.words), Followed(0, True, 1.0, done.words), Followed(0, False, 1.0, "")):
            with self.assertRaisesRegex(BenchError, "under valgrind failed"):
                instructions.counted(wrong)


class Carried(unittest.TestCase):
    def invalid(self, nezha):
        return summary.summarise(measured(rounds(nezha=nezha), LIMITS))["invalid"]

    def test_good(self):
        self.assertEqual(self.invalid(CARRIED), {})

    def test_component_not_there(self):
        self.assertIn("was not in use in 12 of 12 launches", self.invalid(None)["nezha"])

    def test_no_call_carried(self):
        self.assertIn("carried no call at any size", self.invalid({1024: 0, 1 << 20: 0})["nezha"])

    def test_large_sizes_left_to_the_incumbent(self):
        self.assertIn("no call at 1 sizes from 4096 bytes on: [1048576]", self.invalid({1024: 10, 1 << 20: 0})["nezha"])

    def test_one_bad_launch_is_enough(self):
        some = rounds()
        some[3]["again"] = rounds(nezha=None)[3]["again"]
        self.assertIn("in 1 of 12 launches", summary.summarise(measured(some, LIMITS))["invalid"]["nezha"])

    def test_the_best_is_none_of_these(self):
        other = measured(rounds(nezha=None), LIMITS, "ompi-all")
        self.assertEqual([row["best_competitor"] for row in summary.summarise(other)["sizes"]], [None, None])

    def test_partly(self):
        states = carried.by_size([launch("nezha", SIZES, {1024: 10, 1 << 20: 3})])
        self.assertEqual(states, {1024: carried.RAILS, 1 << 20: carried.PARTLY})

    def test_it_is_said_loudly(self):
        out = io.StringIO()
        table.print_summary(summary.summarise(measured(rounds(nezha=None), LIMITS)), Console(file=out, width=80))
        self.assertIn('*** INVALID: the column "Nezha" is not about Nezha', out.getvalue())


class Reading(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual(parse_sizes("4:32"), [4, 8, 16, 32])
        self.assertEqual(parse_sizes("1M,4,3000,1K,4"), [4, 1024, 3000, 1 << 20])
        self.assertEqual([size_text(size) for size in (4, 1000, 2048, 3 << 20)], ["4", "1000", "2K", "3M"])
        for bad in ("", "0", "4:", "1M:4", "4,,8", "-4", "4KB", 400 * "9", 5000 * "9"):
            with self.assertRaises(BenchError, msg=bad):
                parse_sizes(bad)

    def test_osu_table(self):
        reader = OsuReader()
        text = ("# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
                "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
                "4                       2.50              2.00              3.00        1000\n")
        kinds = [found for found in map(reader.read, text.splitlines()) if found is not None]
        self.assertEqual([kind for kind, _ in kinds], ["start", "start", "size"])
        self.assertEqual(kinds[2][1], {"size": 4, "avg_us": 2.5, "min_us": 2.0, "max_us": 3.0, "iterations": 1000})

    def test_osu_table_without_the_rest(self):
        reader = OsuReader()
        reader.read("# Size       Avg Latency(us)")
        self.assertEqual(reader.read("1048576      12345.67"), ("size", {"size": 1 << 20, "avg_us": 12345.67, "iterations": 0}))

    def test_other_lines_are_passed_over(self):
        self.assertIsNone(read_json_line("mpirun says something"))
        self.assertIsNone(read_json_line("{not json"))
        self.assertEqual(read_json_line('{"kind":"size","size":4}'), ("size", {"size": 4}))

    def test_socket_memory(self):
        listing = ("ESTAB 0 0 10.10.0.1:1 10.10.0.2:2 skmem:(r100,rb131072,t0,tb2626560,f28,w1000,o0,bl0,d0)\n"
                   "ESTAB 0 0 10.11.0.1:1 10.11.0.2:2 skmem:(r0,rb131072,t0,tb87040,f0,w5,o0,bl0,d0)\n")
        self.assertEqual(memory.socket_bytes(listing), 1133)


class Cases(unittest.TestCase):
    def test_weights_are_the_least_rates(self):
        self.assertEqual(PRESETS["1+0.5"].weights(), [1000.0, 500.0])
        self.assertEqual(PRESETS["slow-node"].weights(), [1000.0, 500.0])
        self.assertEqual(PRESETS["unshaped"].weights(), [1.0, 1.0])
        self.assertEqual(Case("own", 2, ("100mbit", "1gbit")).best_rail(), 1)

    def test_several_ranks_on_a_node(self):
        launcher = Launcher(PRESETS["4x4"], Programs("m", "g", "c"), Effort((1024,), 0.1))
        for who, rails in (("han-one", 0), ("han", "all")):
            words, keywords = launcher.of(who)
            self.assertEqual(words[:3], ["--mca", "coll_han_priority", "100"])
            self.assertEqual(keywords, {"np": 16, "ppn": 4, "incumbent_rails": rails, "nezha": False})
        self.assertEqual(launcher.of("ompi-all")[0][0], "m")
        whole = summary.summarise(dataclasses.replace(measured(rounds(), LIMITS), case=PRESETS["4x4"]))
        self.assertEqual(table.case_text(whole["case"]), "4 nodes with 4 ranks each, 1gbit + 1gbit")

    def test_nodes_with_other_numbers_of_ranks(self):
        def case(*words):
            options = cli.build_parser().parse_args(words)
            return choices.cases(options)[0]
        own = case("--ranks", "1,2,4,5")
        self.assertEqual((own.nodes, own.ranks, own.processes), (4, (1, 2, 4, 5), 12))
        self.assertEqual(dataclasses.replace(own, name="uneven"), PRESETS["uneven"])
        keywords = Launcher(own, Programs("m", "g", "c"), Effort((1024,), 0.1)).of("nezha")[1]
        self.assertEqual((keywords["np"], keywords["ppn"]), (12, (1, 2, 4, 5)))
        self.assertEqual(table.case_text(dataclasses.asdict(own)), "4 nodes with 1, 2, 4 and 5 ranks, 1gbit + 1gbit")
        self.assertEqual(case("--ranks", "3", "--nodes", "2").ranks, 3)
        with self.assertRaisesRegex(BenchError, "--ranks lists 2 nodes, --nodes says 3"):
            case("--ranks", "3,1", "--nodes", "3")

    def test_competitors_by_case(self):
        def wanted(*words):
            options = cli.build_parser().parse_args(words)
            return choices.wanted(options, choices.cases(options)[0])
        self.assertEqual(wanted("--cases", "1+1"), ["nezha", "ompi-one", "ompi-all", "gloo"])
        self.assertEqual(wanted("--cases", "4x4"), ["nezha", "ompi-one", "ompi-all", "han-one", "han", "xhc", "acoll", "mpich-one", "mpich"])
        self.assertEqual(wanted("--nodes", "1", "--ranks", "2"), ["nezha", "ompi-one", "han-one", "xhc", "acoll", "mpich-one"])
        self.assertEqual(wanted("--cases", "node-4", "--subject", "han"), ["han", "ompi-one", "xhc", "acoll", "mpich-one"])

    def test_names(self):
        self.assertEqual([case.name for case in presets("1+1,slow-node")], ["1+1", "slow-node"])
        self.assertEqual(len(presets("all")), len(PRESETS))
        with self.assertRaisesRegex(BenchError, "^case '2\\+2': 1\\+1, "):
            presets("2+2")


if __name__ == "__main__":
    unittest.main()
