# SPDX-License-Identifier: BSD-3-Clause
"""nezha report: what it makes of a trace and of a bench file; and a trace that a real job wrote."""

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree

from bench_case import program
from command_case import COMPONENT, CommandCase
from lab_case import make_lab
from test_bench_summary import LIMITS, measured, rounds

from nezha_bench import document, summary
from nezha_bench.competitors import Effort, Launcher, Programs
from nezha_bench.cases import PRESETS
from nezha_command import cli, report, trace_file, trace_story
from nezha_command.errors import CommandError

SWITCH = 8  # calls of the ring after which the mesh is chosen
EVENT = '{"kind":"lane","t":130.000,"event":"lost","lane":"tcp/eth1 - tcp/eth1","peer":"rank 1 on n1","why":"no <carrier>"}'
CALLS = '{"kind":"calls","t":200.000,"class":16,"calls":60,"us":410.000,"least_us":390.000,"way":"mesh","sent":[300000,100000]}'


def lines():
    yield '{"kind":"start","format":1,"version":"0.1.0","node":"n0","tick_ms":50}'
    yield '{"kind":"rails","names":["tcp/eth0","tcp/eth1"]}'
    for number in range(40):
        way = "ring" if number < SWITCH else "mesh"
        yield (f'{{"kind":"call","t":{number * 5}.000,"ranks":4,"bytes":65536,"us":{900 if way == "ring" else 400}.0,'
               f'"way":"{way}","sent":[30000,10000]}}')
    yield '{"kind":"traffic","t":50.000,"sent":[600000,300000],"received":[1,2]}'
    yield '{"kind":"traffic","t":150.000,"sent":[600000,0],"received":[1,2]}'
    yield EVENT
    yield CALLS


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


class Files(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def file(self, name, text):
        path = os.path.join(self.directory.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def trace(self):
        return self.file("job.trace", "\n".join(lines()) + "\n")

    def bench(self):
        run = measured(rounds(), LIMITS)
        whole = document.start()
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024, 1 << 20), 0.1))
        document.add_case(whole, run, summary.summarise(run), launcher)
        path = os.path.join(self.directory.name, "bench.json")
        document.write(whole, path)
        return path


class Reading(Files):
    def test_story(self):
        size, = trace_story.sizes(trace_file.read(self.trace()))
        self.assertEqual((size.size_class, size.calls, size.way, size.settled_after), (16, 100, "mesh", SWITCH))
        self.assertEqual(size.shares, [0.75, 0.25])
        self.assertAlmostEqual(size.us, 410.0)
        self.assertEqual(len(size.points), 40)

    def test_traffic(self):
        step, seconds, rates = trace_story.traffic(trace_file.read(self.trace()))
        self.assertEqual((step, len(seconds)), (50.0, 4))
        self.assertEqual([[round(rate) for rate in rail] for rail in rates], [[96, 0, 96, 0], [48, 0, 0, 0]])

    def test_the_end_of_a_job_is_no_loss(self):
        """Others close their lanes before this process does."""
        closed = EVENT.replace("no <carrier>", "the other side closed the connection")
        for added, left in (([closed.replace("130.000", "201.000")] * 2, 1), ([closed.replace("130.000", "201.000"), EVENT], 3),
                            ([closed.replace("130.000", "150.000"), next(lines()), CALLS.replace("200.000", "1200.000")], 2)):
            trace = trace_file.read(self.file("end", "\n".join([*lines(), *added]) + "\n"))
            self.assertEqual(len(trace_story.events(trace)), left, added)

    def test_a_rail_that_came_later(self):
        text = list(lines())
        text.insert(-1, '{"kind":"rails","names":["tcp/eth0","tcp/eth1","tcp/eth2"]}')
        trace = trace_file.read(self.file("later", "\n".join(text) + "\n"))
        self.assertEqual({len(row.sent) for row in [*trace.traffic, *trace.single, *trace.summed]}, {3})

    def test_cut_at_the_end(self):
        """As of a job that was killed."""
        self.assertEqual(len(trace_file.read(self.file("cut", "\n".join(lines())[:-20])).summed), 0)

    def test_broken_in_the_middle(self):
        text = list(lines())
        text[5] = "{}"
        with self.assertRaisesRegex(CommandError, "broken, line 6: this is no line of a trace"):
            trace_file.read(self.file("broken", "\n".join(text) + "\n"))


class Page(Files, CommandCase):
    def page(self, *paths):
        output = os.path.join(self.directory.name, "page.html")
        self.nezha("report", *paths, "--output", output)
        with open(output, encoding="utf-8") as file:
            return file.read()

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
        self.assertEqual(re.findall(r'(?:src|href)="(?!#)[^"]*"|@import|<script|<link', page), [])

    def test_trace(self):
        page = self.page(self.trace())
        self.sound(page, 3)
        self.assertIn("no &lt;carrier&gt;", page)
        self.assertIn("<td class=text>mesh</td>", page)

    def test_bench(self):
        page = self.page(self.bench())
        self.sound(page, 1)
        self.assertIn("4 nodes, 1gbit + 1gbit", page)

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

    def test_a_file_that_cannot_be_written(self):
        bench = program("nezha_allreduce_bench")
        lab = make_lab(self, nodes=2, rails=["none"])
        done = lab.mpirun(["--mca", "coll_nezha_trace", "/nonexistent/trace", bench, "-s", "64", "-i", "10"], component_dir=COMPONENT,
                          incumbent_rails="mgmt", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
