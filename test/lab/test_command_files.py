# SPDX-License-Identifier: BSD-3-Clause
"""Files for results: those that cannot be written are refused before anything is measured, and nothing that was measured is
lost."""

import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest
from unittest import mock

from bench_case import LIMITS, launch, measured, rounds
from command_case import kept_in

from nezha_bench import cli as bench_cli
from nezha_bench import compare, demo, files, picture, summary
from nezha_bench import rounds as bench_rounds
from nezha_bench.cases import PRESETS
from nezha_bench.competitors import Effort, Launcher, Programs
from nezha_bench.errors import BenchError
from nezha_command import bench, cli, tune
from nezha_command.errors import CommandError
from nezha_command.file_lock import alone_with
from nezha_command.sweep import Way
from nezha_faults import cli as faults_cli
from nezha_scale import cli as scale_cli

WRITERS = ((cli, ["bench", "--json"]), (cli, ["bench", "--picture"]), (cli, ["tune"]), (cli, ["report", "trace", "--output"]),
           (bench_cli, ["--json"]), (bench_cli, ["--picture"]), (faults_cli, ["--json"]), (faults_cli, ["--log"]),
           (scale_cli, ["--json"]))


def quietly(function, *arguments):
    """(what it returns or raises, what it wrote to standard error)"""
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        try:
            result = function(*arguments)
        except BaseException as error:
            result = error
    return result, said.getvalue()


class Place(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.path = os.path.join(directory.name, "found.json")

    def gone(self):
        """A path that could be written when the command line was read, and cannot be any more."""
        folder = os.path.join(self.directory, "folder")
        os.mkdir(folder)
        path = files.replaceable(os.path.join(folder, "found.svg"))
        shutil.rmtree(folder)
        return path


class Before(Place):
    def test_what_cannot_be_written_is_refused_with_the_arguments(self):
        for module, words in WRITERS:
            for path in (os.path.join(self.directory, "nowhere", "found.svg"), "/proc/found.svg"):
                with self.subTest(words=words, path=path):
                    refusal, said = quietly(module.build_parser().parse_args, [*words, path])
                    self.assertIsInstance(refusal, SystemExit)
                    self.assertEqual(refusal.code, 2)
                    self.assertIn(f"'{path}' cannot be written: ", said)

    def test_a_picture_of_no_format(self):
        for module, words in ((cli, ["bench", "--picture"]), (bench_cli, ["--picture"])):
            refusal, said = quietly(module.build_parser().parse_args, [*words, os.path.join(self.directory, "found.pgn")])
            self.assertEqual(refusal.code, 2)
            self.assertIn("names that end in .png, .svg, .pdf are allowed", said)

    def a_strangers_link(self):
        """Where everyone may make one, as in /tmp."""
        shared = os.path.join(self.directory, "shared")
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        link = os.path.join(shared, "found.json")
        files.write(self.path, "mine")
        os.symlink(self.path, link)
        os.lchown(link, 65534, 65534)
        return link

    @unittest.skipIf(os.geteuid(), "only root can make it")
    def test_nothing_is_written_where_a_strangers_link_leads(self):
        link = self.a_strangers_link()
        alias = os.path.join(self.directory, "alias.json")
        os.symlink(link, alias)
        why = f"it leads over {link}, another user's link where everyone may make one"
        for path in (link, alias):
            refusal, said = quietly(cli.build_parser().parse_args, ["bench", "--json", path])
            self.assertEqual(refusal.code, 2)
            self.assertIn(f"'{path}' cannot be written: {why}", said)
            with kept_in(self.directory) as kept:
                self.assertFalse(quietly(files.write, path, "found")[0])
                self.assertEqual(kept(), "found")
            with self.assertRaises(CommandError) as refused, alone_with(path):
                pass
            self.assertEqual(str(refused.exception), f"{path}: {why}")
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        os.chmod(os.path.dirname(link), 0o777)
        self.assertTrue(files.write(link, "found"))

    def test_links_in_a_circle(self):
        os.symlink("other", self.path)
        os.symlink("found.json", os.path.join(self.directory, "other"))
        self.assertIn("too many links", quietly(cli.build_parser().parse_args, ["bench", "--json", self.path])[1])

    def test_no_file_is_left_and_none_is_emptied(self):
        files.replaceable(self.path)
        self.assertEqual(os.listdir(self.directory), [])
        files.write(self.path, "before")
        files.replaceable(self.path)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "before")
        self.assertEqual(os.listdir(self.directory), ["found.json"])


class Written(Place):
    def test_the_mode_of_the_file_and_the_link_to_it_stay(self):
        files.write(self.path, "before")
        os.chmod(self.path, 0o640)
        link = os.path.join(self.directory, "link")
        os.symlink("found.json", link)
        self.assertTrue(files.write(link, b"after"))
        self.assertTrue(os.path.islink(link))
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o640)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "after")

    @unittest.skipIf(os.geteuid(), "only root can give files away")
    def test_a_users_file_stays_his_when_root_replaces_it(self):
        files.write(self.path, "before")
        os.chown(self.path, 65534, 65534)
        self.assertTrue(files.write(self.path, "after"))
        found = os.stat(self.path)
        self.assertEqual((found.st_uid, found.st_gid), (65534, 65534))

    def test_what_cannot_be_written_after_all_is_kept(self):
        path = self.gone()
        with kept_in(self.directory) as kept:
            for content in ("first", "first and second"):
                written, said = quietly(files.write, path, content)
                self.assertFalse(written)
                self.assertRegex(said, rf"^{path} cannot be written: No such file or directory. What was to be in it is in {self.directory}/")
                self.assertEqual(kept(), content)

    def test_without_a_directory_for_temporary_files_it_comes_on_standard_output(self):
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with (mock.patch("tempfile.tempdir", os.path.join(self.directory, "none")), mock.patch.object(sys, "stdout", out),
              contextlib.redirect_stderr(io.StringIO()) as said):
            self.assertFalse(files.write(self.gone(), "all of it\n"))
        self.assertEqual(out.buffer.getvalue(), b"all of it\n")
        self.assertIn("The content follows on standard output", said.getvalue())


class Commands(Place):
    def bench(self, *words, failure=None):
        found = measured(rounds(), LIMITS)
        found.failure, found.interrupted = failure, failure is not None
        options = cli.build_parser().parse_args(["bench", *words])
        options.mpirun = []
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024, 1 << 20), 0.1))
        with (mock.patch("nezha_bench.rounds.measure", return_value=found), mock.patch("nezha_command.cluster.Cluster"),
              mock.patch("nezha_command.cluster.Launcher", return_value=launcher),
              mock.patch("nezha_bench.table.print_summary") as shown):
            options.json, options.picture = options.json and self.gone(), options.picture and self.gone()
            result, said = quietly(bench.run, options)
        shown.assert_called_once()
        return result, said

    def test_nezha_bench(self):
        for option, beginning in (("--json", '{\n "format": 1'), ("--picture", "<?xml")):
            with self.subTest(option=option), kept_in(self.directory) as kept:
                result, said = self.bench(option, os.path.join(self.directory, "found.svg"))
                self.assertIsInstance(result, CommandError)
                self.assertIn("cannot be written: No such file or directory. What was to be in it is in ", said)
                self.assertTrue(kept().startswith(beginning))

    def test_a_launch_that_fails_late(self):
        result, _ = self.bench(failure=BenchError("nezha failed with status 1"))
        self.assertIsInstance(result, CommandError)
        self.assertEqual(str(result), "nezha failed with status 1")

    def test_rounds_that_were_complete_when_a_launch_failed(self):
        calls = [launch("nezha", {1024: 50.0})] * 3 + [BenchError("status 1")]
        lab = mock.Mock(limit_seconds=lambda size, ranks: 0.0)
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024,), 0.1))

        def measure(results):
            return bench_rounds.measure(lab, launcher, "nezha", ["nezha"], 3, mock.MagicMock(), run=mock.Mock(side_effect=results))

        found = measure(calls)
        self.assertEqual((len(found.rounds), str(found.failure)), (1, "status 1"))
        self.assertIsInstance(quietly(measure, calls[2:])[0], BenchError)

    def test_contrib_bench(self):
        run = measured(rounds(), LIMITS)
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024, 1 << 20), 0.1))
        show, draw = mock.Mock(), mock.Mock(return_value=True)
        with kept_in(self.directory) as kept:
            result, _ = quietly(compare.in_turn, [run.case], self.gone(), "cases", lambda case: (run, launcher),
                                lambda found, _: summary.summarise(found), show, draw)
            self.assertTrue(kept().startswith('{\n "format": 1'))
        self.assertIsInstance(result, BenchError)
        show.assert_called_once()

    def test_the_pictures_of_several_cases_are_tried_before(self):
        os.mkdir(os.path.join(self.directory, "found-1+0.5.svg"))
        with mock.patch.object(compare, "compare") as measuring:
            status, said = quietly(bench_cli.main, ["--cases", "1+1,1+0.5", "--picture", os.path.join(self.directory, "found.svg")])
        self.assertNotIn(status, (0, None))
        self.assertIn("found-1+0.5.svg': it is no regular file", said)
        measuring.assert_not_called()

    def test_the_demonstration(self):
        found = summary.summarise(measured(rounds(), LIMITS))
        path = os.path.join(self.directory, "demo.svg")
        with (mock.patch.object(demo, "_measure", return_value=(found, None)), mock.patch.object(picture, "draw", return_value=False),
              mock.patch("nezha_bench.story.show") as shown, mock.patch("sys.argv", ["demo", "--build", "b", "--picture", path])):
            self.assertEqual(quietly(demo.main)[0], 1)
        shown.assert_called_once_with(found, None, demo.MOST_ROUNDS)

    def test_a_sweep_that_fails_late(self):
        options = cli.build_parser().parse_args(["tune", self.path, "--ways", "mesh", "--sizes", "1K"])
        options.mpirun = []
        sweep = mock.Mock(rounds=2, ranks=4, nodes=2, times={1024: {Way("mesh"): []}}, results=lambda: {1024: [(Way("mesh"), 1e-4)]},
                          run=mock.Mock(side_effect=BenchError("mesh failed with status 1")))
        with (kept_in(self.directory) as kept, mock.patch("nezha_command.sweep.Sweep", return_value=sweep),
              mock.patch("nezha_command.cluster.Cluster")):
            result, said = quietly(tune.run, options)
            self.assertIn('"time_ns": 100000', kept())
        self.assertEqual(str(result), "mesh failed with status 1")
        self.assertIn("for only 2 rounds are complete", said)
        self.assertFalse(os.path.exists(self.path))

    def test_the_cases_of_contrib_faults_that_are_done(self):
        def measure(case, found):
            if case == "soak":
                raise BenchError("soak failed")
            found["rounds"] = [{"less": 1, "more": 1}]

        session = mock.Mock(measure=measure, options=mock.Mock(json=None), written=True)
        options = faults_cli.build_parser().parse_args(["--cases", "rate,soak"])
        with mock.patch.object(faults_cli, "Session", return_value=session), contextlib.redirect_stdout(io.StringIO()) as out:
            with self.assertRaisesRegex(BenchError, "soak failed"):
                faults_cli.run(options)
        self.assertIn("rail at half its rate", out.getvalue())


if __name__ == "__main__":
    unittest.main()
