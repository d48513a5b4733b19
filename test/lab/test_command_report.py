# SPDX-License-Identifier: BSD-3-Clause
"""nezha report: what it makes of a trace and of a bench file; and a trace that a real job wrote."""

import argparse
import contextlib
import io
import itertools
import json
import os
import re
import shutil
import subprocess
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
from nezha_command import cli, perfetto, prometheus, rates, report, trace_file, trace_story, verdict
from nezha_command.errors import CommandError

SWITCH = 8  # calls of the ring after which the mesh is chosen
EVENT = '{"kind":"lane","t":130.000,"event":"lost","lane":"tcp/eth1 - tcp/eth1","peer":"rank 1 on n1","why":"no <carrier>"}'
CALLS = '{"kind":"calls","t":200.000,"class":16,"calls":60,"us":410.000,"least_us":390.000,"way":"mesh","sent":[300000,100000]}'


def call(number, way, us=400, sent="[30000,10000]"):
    return (f'{{"kind":"call","t":{number * 5}.000,"ranks":4,"bytes":65536,"us":{us}.0,"way":"{way}","sent":{sent}}}')


def beginning():
    yield from itertools.islice(lines(), 2)


def lines():
    yield '{"kind":"start","format":1,"version":"0.1.0","node":"n0","tick_ms":50}'
    yield '{"kind":"rails","names":["tcp/eth0","tcp/eth1"]}'
    for number in range(40):
        yield call(number, "ring", 900) if number < SWITCH else call(number, "mesh")
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

    def bench(self, *what):
        """what: as summary.summarise() takes it behind the rounds."""
        run = measured(rounds(), LIMITS)
        whole = document.start()
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((1024, 1 << 20), 0.1))
        document.add_case(whole, run, summary.summarise(run, *what), launcher)
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

    def test_spent(self):
        """What is outside of calls explains why rails carry nothing."""
        calls = [*(call(number, "ring", 1000) for number in range(4)), *(call(number, "incumbent", 2000, "[]") for number in (4, 5))]
        trace = trace_file.read(self.file("spent.trace", "\n".join([*beginning(), *calls]) + "\n"))
        self.assertEqual([round(part, 6) for part in trace_story.spent(trace)], [0.027, 0.004, 0.004])

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


class Sizes(Files):
    """What a trace says of one size."""

    def size(self, *calls):
        size, = trace_story.sizes(trace_file.read(self.file("size", "\n".join([*beginning(), *calls]) + "\n")))
        return size

    def test_percentiles(self):
        """Of the calls that went its way: others are trials. Nearest rank; the 99th needs a hundred."""
        size = self.size(*(call(number, "ring", 5000) for number in range(5)), *(call(number, "mesh", number) for number in range(1, 201)))
        self.assertEqual((size.way, size.p50, size.p99), ("mesh", 100.5, 198.0))
        self.assertEqual((size.ranks, size.bytes), (4, 65536))
        few = self.size(*(call(number, "mesh") for number in range(99)))
        self.assertEqual((few.p50, few.p99), (400.0, None))
        self.assertEqual(self.size(CALLS).p50, None)

    def test_a_line_of_many_calls_counts_that_often(self):
        def one(us):
            return CALLS.replace('"calls":60,"us":410.000', f'"calls":1,"us":{us}.000')

        self.assertEqual(self.size(CALLS, one(900), one(950)).us, 410.0)
        self.assertEqual(self.size(*map(one, (1, 1, 1, 1, 1, 1, 600, 500))).us, 550.0)

    def test_never_settled(self):
        """A way that was taken for its last calls only is no choice."""
        for before, after, settled in ((0, 3, True), (8, 32, True), (20, 6, False), (1000, 200, False), (3, 1, False)):
            size = self.size(*(call(number, "ring") for number in range(before)), *(call(number, "mesh") for number in range(after)))
            self.assertEqual(size.settled, settled, (before, after, size.settled_after))

    def test_limit(self):
        """65536 bytes by 4 ranks: each sends 98304; 1.5 Gbit/s carry 95.7 %."""
        size = self.size(*(call(number, "mesh") for number in range(9)))
        total = rates.together(["tcp/eth0", "tcp/eth1"], rates.rates("eth0=1gbit,tcp/eth1=500mbit"))
        self.assertAlmostEqual(rates.least_us(size, total), 98304 * 8 / (1.5e9 * 0.957) * 1e6)
        self.assertIsNone(rates.together(["tcp/eth0", "tcp/eth2"], rates.rates("eth0=1gbit,eth1=500mbit")))
        self.assertIsNone(rates.least_us(size, None))
        for wrong in ("eth0", "eth0=", "eth0=fast", "=1gbit", "eth0=none"):
            with self.assertRaises(argparse.ArgumentTypeError):
                rates.rates(wrong)

    def sentence(self, *calls, lost=0):
        trace = trace_file.read(self.file("said", "\n".join([*beginning(), *calls]) + "\n"))
        return verdict.of_trace(trace, trace_story.sizes(trace), lost)

    def test_verdict(self):
        self.assertEqual(self.sentence(*(call(number, "mesh") for number in range(20))),
                         "Rails carried 20 of 20 calls that the trace has (100.0 %); 64K used several rails; no lane was lost.")
        self.assertEqual(self.sentence(*(call(number, "incumbent", sent="[]") for number in range(20)), lost=1),
                         "Rails carried 0 of 20 calls that the trace has (0.0 %); the calls of 64K went to Open MPI's own allreduce; "
                         "1 lane was lost.")
        self.assertEqual(self.sentence(*(call(number, "ring", sent="[9,0]") for number in range(20)),
                                       *(call(number, "mesh", sent="[9,0]") for number in range(7)), lost=2),
                         "Rails carried 27 of 27 calls that the trace has (100.0 %); no size used more than one of the 2 rails; "
                         "64K never settled; 2 lanes were lost.")


class Perfetto(Files):
    def test_events(self):
        events = json.loads(perfetto.text([("job.trace", trace_file.read(self.trace()))] * 2))["traceEvents"]
        self.assertEqual({event["pid"] for event in events}, {0, 1})
        spans = [event for event in events if event["ph"] == "X" and event["pid"] == 0]
        self.assertEqual(len(spans), 41)
        self.assertEqual((spans[0]["ts"], spans[0]["dur"], spans[0]["name"]), (0.0, 900.0, "ring"))
        self.assertEqual(spans[0]["args"], {"bytes": 65536, "ranks": 4, "sent by tcp/eth0": 30000, "sent by tcp/eth1": 10000})
        self.assertEqual((spans[-1]["name"], spans[-1]["ts"], spans[-1]["dur"]), ("mesh, 60 calls", 175400.0, 24600.0))
        instants = [event for event in events if event["ph"] == "i"]
        self.assertEqual((instants[0]["ts"], instants[0]["args"]["why"]), (130000.0, "no <carrier>"))
        counters = [event for event in events if event["ph"] == "C" and event["name"] == "Mbit/s sent"]
        self.assertEqual((counters[0]["ts"], counters[0]["args"]), (0.0, {"tcp/eth0": 96.0, "tcp/eth1": 48.0}))
        self.assertEqual((counters[1]["ts"], counters[1]["args"]), (50000.0, {"tcp/eth0": 0, "tcp/eth1": 0}))
        self.assertTrue(all(isinstance(event["ts"], float) and event["ts"] >= 0 for event in events if event["ph"] in "XiC"))


def aggregated():
    """Of the vectors of the mesh's calls a half went through an aggregator, and an eighth of those that are summed."""
    for line in lines():
        part = 0.5 if '"call"' in line else 0.125
        yield line.replace("]}", f'],"aggregated":{part}}}') if '"mesh"' in line else line


class Prometheus(Files):
    LINE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (-?[0-9.e+-]+)')

    def samples(self, *traces):
        """{(metric, labels as text): value}; each line is as the format has it, and each metric has its type before."""
        found, kinds = {}, {}
        for line in prometheus.text(list(traces)).splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.assertNotIn(name, kinds)
                self.assertEqual(kind == "counter", name.endswith("_total"))
                kinds[name] = kind
            elif not line.startswith("# HELP "):
                name, labels, value = self.LINE.fullmatch(line).groups()
                self.assertIn(name, kinds)
                self.assertNotIn((name, labels), found)
                found[name, labels] = float(value)
        return found

    def test_samples(self):
        found = self.samples(("job", trace_file.read(self.trace())))
        labels = 'trace="job",node="n0"'
        self.assertEqual(found["nezha_calls_total", f'{labels},from_bytes="65536",way="mesh"'], 92)
        self.assertEqual(found["nezha_calls_total", f'{labels},from_bytes="65536",way="ring"'], SWITCH)
        self.assertAlmostEqual(found["nezha_call_p50_seconds", f'{labels},from_bytes="65536",way="mesh"'], 400e-6)
        self.assertEqual(found["nezha_rail_sent_bytes_total", f'{labels},rail="tcp/eth0"'], 1200000)
        self.assertEqual(found["nezha_rail_received_bytes_total", f'{labels},rail="tcp/eth1"'], 4)
        self.assertEqual(found["nezha_lane_events_total", f'{labels},event="lost"'], 1)
        self.assertEqual(found["nezha_size_settled", f'{labels},from_bytes="65536"'], 1)

    def test_aggregated(self):
        trace = trace_file.read(self.file("aggregated.trace", "\n".join(aggregated())))
        self.assertEqual(self.samples(("job", trace))["nezha_size_aggregated_ratio", 'trace="job",node="n0",from_bytes="65536"'], 0.125)

    def test_names_of_files(self):
        trace = trace_file.read(self.trace())
        found = self.samples(('a"b\\c', trace), ("d", trace))
        self.assertIn(("nezha_lane_events_total", r'trace="a\"b\\c",node="n0",event="lost"'), found)
        self.assertIn(("nezha_lane_events_total", 'trace="d",node="n0",event="lost"'), found)


class Page(Files, CommandCase):
    def page(self, *paths):
        output = os.path.join(self.directory.name, "page.html")
        self.nezha("report", *paths, "--output", output)
        with open(output, encoding="utf-8") as file:
            return file.read()

    def test_aggregated(self):
        page = self.page(self.file("aggregated.trace", "\n".join(aggregated())))
        self.assertIn("<th>aggregator %</th>", page)
        self.assertIn("<td>12.5</td>", page)
        self.assertNotIn("aggregator", self.page(self.trace()))

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
                         r"the best competitor, Open MPI \(all rails\), 2\.00 times as long; faster than every competitor at 1K and 1M\.<")
        self.assertIn("<summary>Command line and parameters</summary>", page)
        self.assertIn("--json -s 1024,1048576 -T 0.1", page)

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
        with open(self.bench(), encoding="utf-8") as file:
            document = json.load(file)
        for name in "collective", "statistic":
            del document["cases"][0]["summary"][name]
        page = self.page(self.file("older.json", json.dumps(document)))
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

    def test_a_file_that_cannot_be_written(self):
        bench = program("nezha_allreduce_bench")
        lab = make_lab(self, nodes=2, rails=["none"])
        done = lab.mpirun(["--mca", "coll_nezha_trace", "/nonexistent/trace", bench, "-s", "64", "-i", "10"], component_dir=COMPONENT,
                          incumbent_rails="mgmt", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
