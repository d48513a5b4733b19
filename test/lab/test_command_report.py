# SPDX-License-Identifier: BSD-3-Clause
"""nezha report: its page of a trace and of a bench file, and of a trace that a real job wrote."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

from bench_case import program
from command_case import COMPONENT, CommandCase
from lab_case import make_lab
from report_case import EVENT, MEMORY, Files, aggregated, beginning, call, lines

from nezha_bench import document, summary
from nezha_command import cli, report, trace_file, trace_story
from nezha_command.errors import CommandError

class Pipes(unittest.TestCase):
    """What is no regular file is neither waited for nor replaced."""

    def test_they_are_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            pipe = os.path.join(directory, "pipe")
            os.mkfifo(pipe)
            with self.assertRaisesRegex(CommandError, "pipe cannot be read: it is no regular file"):
                report.read(pipe)
            for words in (["report", "file", "--output", pipe], ["report", "file", "--output", "/dev/null"], ["bench", "--json", pipe],
                          ["bench", "--picture", pipe], ["tune", pipe]):
                with self.subTest(words=words), contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
                    cli.build_parser().parse_args(words)
                self.assertIn("it is no regular file", said.getvalue())
            self.assertEqual(os.listdir(directory), ["pipe"])


class Page(Files, CommandCase):
    def page(self, *paths):
        """By the installed command's code, in this process: to load what draws takes longer than to draw."""
        output = os.path.join(self.directory.name, "page.html")
        with contextlib.redirect_stdout(io.StringIO()), mock.patch("nezha_command.cli.leave_on_signals"):
            self.assertEqual(cli.main(["report", *paths, "--output", output]), 0)
        with open(output, encoding="utf-8") as file:
            return file.read()

    def test_aggregated(self):
        page = self.page(self.file("aggregated.trace", "\n".join(aggregated())))
        self.assertIn("<th>aggregator %</th>", page)
        self.assertIn("<td>12.5</td>", page)
        self.assertNotIn("aggregator", self.page(self.trace()))

    def test_memory_of_the_node(self):
        page = self.page(self.file("memory.trace", "\n".join([*lines(), MEMORY]) + "\n"))
        for stage, seconds, share in (("reduced", "0.002", "25.0"), ("between nodes", "0.006", "75.0"), ("rest", "0.003", "37.5")):
            self.assertRegex(page, rf"<td class=text>{stage}</td><td class=text>[^<]+</td><td>{seconds}</td><td>{share}</td>")
        self.assertIn("12 calls of rank 0 with 768.0 KiB", page)
        self.assertNotIn("In the memory of the node", self.page(self.trace()))

    def test_memory_alone(self):
        """As of a job whose calls did not block, of which the trace has no others."""
        page = self.page(self.file("memory.trace", "\n".join([next(lines()), MEMORY]) + "\n"))
        self.assertIn("<td class=text>copied in</td>", page)
        self.assertNotIn("No call was carried", page)

    def sound(self, page, pictures):
        found = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        self.assertEqual(len(found), pictures)
        identifiers = []
        for picture in found:
            tree = xml.etree.ElementTree.fromstring(picture)
            own = [entry.get("id") for entry in tree.iter() if entry.get("id")]
            identifiers += own
            self.assertLessEqual(set(re.findall(r'(?:url\(#|href="#)([^)"]+)', picture)), set(own))
        self.assertEqual(len(identifiers), len(set(identifiers)))
        self.assertEqual(re.findall(r'(?:src|href)="(?!#)[^"]*"|@import|<script[^>]|<link|fetch\(|import\(', page), [])

    def test_trace(self):
        page = self.page(self.trace())
        self.sound(page, 3)
        self.assertIn("no &lt;carrier&gt;", page)
        self.assertIn("<figcaption>Mbit/s on each rail over time</figcaption>", page)
        self.assertIn("% in calls that rails carried", page)
        self.assertIn("the trace has means over 50 ms, each of which counts as often as it has calls", page)
        self.assertIn("<title>64K: tcp/eth0 carried 75.0 %, mesh</title>", page)
        self.assertIn("<title>call 1: 900 µs, ring</title>", page)
        self.assertIn("<td class=text>mesh</td>", page)

    def test_many_events(self):
        """As of a lane that comes and goes: a line for each kind in each step."""
        flapping = (EVENT.replace("130.000", f"{130 + number / 100:.3f}").replace("lost", kind)
                    for number in range(1500) for kind in ("lost", "up"))
        page = self.page(self.file("flapping", "\n".join([*lines(), *flapping]) + "\n"))
        self.assertIn("2999 lines are left out: in each step of 50 ms there is one for each kind of event.", page)
        self.assertLess(len(page), 1 << 20)
        self.assertNotIn("are left out", self.page(self.trace()))

    def test_bench(self):
        page = self.page(self.bench())
        self.sound(page, 1)
        self.assertIn("4 nodes, 1gbit + 1gbit", page)
        self.assertRegex(page, r"<p class=verdict>1\+1: at 1M Nezha \(all rails\) took 7.5 ms, 67 % of what the rails allow; "
                         r"the best competitor, Open MPI \(all rails\), 2\.00 times as long; faster than every competitor at 1M\.<")
        self.assertIn("(less than the A/A floor, what it differs from itself, 1 lies in the interval, or fewer than 3 rounds)", page)
        self.assertNotIn("The host took", page)
        self.assertIn("<summary>Command line and parameters</summary>", page)
        self.assertIn("--json -s 1024,1048576 -T 0.1", page)

    def changed_bench(self, change):
        """The bench file with the summary of its case as change(summary) leaves it."""
        with open(self.bench(), encoding="utf-8") as file:
            document = json.load(file)
        change(document["cases"][0]["summary"])
        return self.file("changed.json", json.dumps(document))

    def test_where_the_host_took_time(self):
        def change(summary):
            summary["stolen"] = {"most": 0.2, "disturbed": 30, "of": 36}
            summary["sizes"][0]["restless"] = True
        page = self.page(self.changed_bench(change))
        self.assertIn("<td>0.0 % s</td>", page)
        self.assertIn("<p>s: there they do count.</p>", page)

    def test_a_bench_that_is_not_about_nezha(self):
        page = self.page(self.changed_bench(lambda summary: summary["invalid"].update(nezha="the component was not in use")))
        self.assertIn("<p class=verdict>1+1: INVALID: the component was not in use.</p>", page)
        self.assertIn("The column “Nezha” is not about Nezha: the component was not in use.", page)
        self.assertNotIn("class=tile", page)

    def test_a_competitor_that_is_not_about_nezha(self):
        """It is compared with nothing."""
        def change(summary):
            summary["competitors"].append("nezha-one")
            summary["invalid"]["nezha-one"] = "the rails carried no call at any size"
            for row in summary["sizes"]:
                row["competitors"]["nezha-one"] = {**row["competitors"]["ompi-all"], "subject_is": "slower"}
                row["best_competitor"] = "nezha-one"
        page = self.page(self.changed_bench(change))
        self.assertIn("67 % of what the rails allow; faster than every competitor at 1M.<", page)
        self.assertNotIn("the best competitor<", page)

    def test_another_collective(self):
        page = self.page(self.bench(summary.SLOWEST, "bcast"))
        self.assertIn("<h2>Measured: 1+1 (bcast, 4 nodes, 1gbit + 1gbit)</h2>", page)
        self.assertRegex(page, ">Bcast, 4 nodes, 1gbit \\+ 1gbit: medians of 6 rounds<")
        self.assertRegex(page, ">a call's slowest time in microseconds<")
        self.assertIn("<p class=verdict>1+1: bcast, at 1M Nezha", page)
        self.assertIn("a call&#x27;s slowest time.", page)
        self.assertIn("Open MPI&#x27;s own bcast (incumbent)", page)

    def test_a_bench_file_of_an_older_version(self):
        """It does not tell of which collective, and which of a launch's times counts."""
        def change(summary):
            del summary["collective"], summary["statistic"]
        page = self.page(self.changed_bench(change))
        self.assertRegex(page, ">Allreduce, 4 nodes, 1gbit \\+ 1gbit: medians of 6 rounds<")

    def test_verdict_first(self):
        page = self.page(self.trace(), self.bench())
        said = re.findall("<p class=verdict>(.*?)</p>", page)
        self.assertEqual(len(said), 2)
        self.assertIn("1 lane was lost", said[0])
        self.assertLess(page.rindex("class=verdict"), page.index("<h2>"))

    def test_incumbent_and_never_settled(self):
        """Both are said in the picture and in the table."""
        calls = [*(call(number, "incumbent", sent="[0,0]").replace("65536", "1024") for number in range(20)),
                 *(call(number, "ring") for number in range(20)), *(call(number, "mesh") for number in range(3))]
        page = self.page(self.file("both", "\n".join([*beginning(), *calls]) + "\n"))
        self.assertEqual(len(re.findall(r"Open MPI(?:'|&#x27;)s own \(incumbent\)", page)), 2)
        self.assertEqual(page.count("never settled"), 3)  # once in the verdict
        self.assertIn("<td>never settled</td>", page)

    def test_limit(self):
        """Only where the rates of all rails are given."""
        self.assertNotIn("limit of the rails", self.page(self.trace()))
        self.assertNotIn("limit of the rails", self.page(self.trace(), "--rates", "eth0=1gbit"))
        page = self.page(self.trace(), "--rates", "eth0=1gbit,eth1=1gbit")
        self.assertIn("limit of the rails", page)
        self.assertIn("<th>% of limit</th>", page)
        self.assertIn(f"<td>{98304 * 8 / 1.914e9 * 1e6 / 4:.1f}</td>", page)
        self.nezha("report", self.trace(), "--rates", "eth0", status=2)

    def test_rates_of_no_rail(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
            output = os.path.join(self.directory.name, "page.html")
            for given in ("eth0=1gbit,eth1=1gbit", "eth0=1gbit,tcp/eth7=1gbit"):
                self.assertEqual(said.getvalue(), "")
                self.assertEqual(cli.main(["report", self.trace(), "-o", output, "--rates", given]), 0)
        self.assertEqual(said.getvalue(), "nezha report: --rates eth7: no trace has such a rail; there is tcp/eth0, tcp/eth1\n")

    def test_command_line(self):
        """Where the trace has it."""
        text = "\n".join(lines()).replace('"tick_ms":50}', '"tick_ms":50,"command":"./a <b>","parameters":{"learn":"0"}}') + "\n"
        self.assertIn("<pre>./a &lt;b&gt;\ncoll_nezha_learn = 0</pre>", self.page(self.file("told", text)))
        self.assertNotIn("<pre>", self.page(self.trace()))

    def test_perfetto(self):
        path = os.path.join(self.directory.name, "job.json")
        self.page(self.trace(), "--perfetto", path)
        with open(path, encoding="utf-8") as file:
            self.assertGreater(len(json.load(file)["traceEvents"]), 40)
        self.nezha("report", self.bench(), "--perfetto", path, status=3)

    def test_prometheus(self):
        path = os.path.join(self.directory.name, "nezha.prom")
        self.page(self.trace(), "--prometheus", path)
        with open(path, encoding="utf-8") as file:
            self.assertIn('nezha_calls_total{trace="job.trace",', file.read())
        self.nezha("report", self.bench(), "--prometheus", path, status=3)

    def test_pictures_can_be_enlarged(self):
        """By a script within the page, which is well-formed where a node.js is there to tell; without a picture there is none."""
        script, = re.findall("<script>(.*?)</script>", self.page(self.trace()), re.DOTALL)
        self.assertIn('querySelectorAll("figure svg")', script)
        if shutil.which("node"):
            subprocess.run(["node", "--check", self.file("zoom.js", script)], check=True, timeout=60)
        self.assertNotIn("<script", self.page(self.file("empty", next(lines()) + "\n")))

    def test_both(self):
        self.sound(self.page(self.trace(), self.bench()), 4)

    def test_a_job_without_calls(self):
        page = self.page(self.file("empty", next(lines()) + "\n"))
        self.sound(page, 0)
        self.assertIn("No call was carried by Nezha", page)

    def test_what_it_is_not(self):
        for text in ("", "{}", "[]", "nothing\n"):
            self.nezha("report", self.file("other", text), status=3)
        self.nezha("report", "/nonexistent", status=3)


class Job(Files, CommandCase):
    def test_a_real_job(self):
        bench = program("nezha_allreduce_bench")
        lab = make_lab(self, nodes=2, rails=["200mbit", "200mbit"])
        trace = os.path.join(self.directory.name, "job.trace")
        done = lab.mpirun(["--mca", "coll_nezha_trace", trace, "--mca", "coll_nezha_learn", "0", bench, "-s", "64,256K", "-T", "0.6"],
                          component_dir=COMPONENT, incumbent_rails="mgmt", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = trace_file.read(trace)
        self.assertEqual((found.node, found.rails), ("n0", ["tcp/eth0", "tcp/eth1"]))
        self.assertIn("nezha_allreduce_bench -s 64,256K", found.command)
        self.assertEqual(found.parameters["learn"], "0")
        sizes = {size.size_class: size for size in trace_story.sizes(found)}
        self.assertGreater(sizes[6].calls, 512)  # so that some share a line
        self.assertTrue(found.summed)
        large = sizes[18]
        self.assertEqual(large.way, "ring")
        self.assertAlmostEqual(sum(large.shares), 1.0)
        self.assertGreater(min(large.shares), 0.2)
        self.assertEqual([event.event for event in trace_story.events(found)], ["up", "up"])
        self.assertGreaterEqual(sum(sum(row.sent) for row in found.traffic), sum(sum(call.sent) for call in found.single))
        self.assertTrue(all(json.loads(line) for line in open(trace, encoding="utf-8")))

    def test_ranks_that_share_nodes(self):
        lab = make_lab(self, nodes=2, rails=["none"])
        trace = os.path.join(self.directory.name, "job.trace")
        done = lab.mpirun(["--mca", "coll_nezha_trace", trace, "--mca", "coll_nezha_learn", "0", program("nezha_allreduce_bench"), "-s", "256K",
                           "-i", "30"], np=4, ppn=2, component_dir=COMPONENT, incumbent_rails="mgmt", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        stages = dict(trace_story.memory_stages(trace_file.read(trace)))
        for stage in ("copied in", "reduced", "shared", "between nodes"):
            self.assertGreater(stages[stage], 0, stage)

    def test_a_file_that_cannot_be_written(self):
        bench = program("nezha_allreduce_bench")
        lab = make_lab(self, nodes=2, rails=["none"])
        done = lab.mpirun(["--mca", "coll_nezha_trace", "/nonexistent/trace", bench, "-s", "64", "-i", "10"], component_dir=COMPONENT,
                          incumbent_rails="mgmt", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
