# SPDX-License-Identifier: BSD-3-Clause
"""nezha report: what it takes from a trace, and what it makes of that for Perfetto and Prometheus."""

import argparse
import contextlib
import io
import json
import os
import re
import unittest

from report_case import CALLS, EVENT, MEMORY, SWITCH, Files, aggregated, beginning, call, lines

from nezha_command import cli, perfetto, prometheus, rates, trace_file, trace_story, verdict
from nezha_command.errors import CommandError

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


class Unusual(Files):
    """Traces that no job writes, or a short one: either a page or a sentence comes of them."""

    TRAFFIC = '{"kind":"traffic","t":50,"sent":[1,2],"received":[1,2]}'

    def report(self, *text):
        """(status, standard error, page)"""
        path, page = self.file("unusual.trace", "\n".join(text) + "\n"), self.file("page.html", "")
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
            status = cli.main(["report", path, "-o", page, "--perfetto", os.path.join(self.directory.name, "perfetto.json")])
        with open(page, encoding="utf-8") as file:
            return status, said.getvalue(), file.read()

    def test_they_are_drawn(self):
        try:
            import matplotlib  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("there is no python3-matplotlib here")
        start, rails, *rest = lines()
        dollars = [line.replace("tcp/eth0", "tcp/e$x^$").replace('"mesh"', '"me$x^$ in chunks of 4K"') for line in (rails, *rest)]
        for shown, text in ((">tcp/e$x^$<", dollars), ("rank 0 spent 49 %", [rails, self.TRAFFIC, CALLS.replace("200", "50")]),
                            ("How each size", [self.TRAFFIC.replace("[1,2]", "[]"), *(call(number, "ring", sent="[]") for number in range(9))]),
                            ("In the memory of the node", [MEMORY.replace("8000.000", "0")]),
                            ("Traffic on each rail", [rails, self.TRAFFIC.replace("50", "100000"), self.TRAFFIC, *rest])):
            with self.subTest(shown=shown):
                status, said, page = self.report(start, *text)
                self.assertEqual((status, said), (0, ""))
                self.assertIn(shown, page)

    def test_numbers_that_no_job_has(self):
        start, *rest = lines()
        many = 400 * "9"
        for text in ([start.replace("50}", f"{many}}}"), *rest], [start.replace("50}", "1e-300}"), *rest], [start, *rest, call(1, "ring", many)],
                     [start, rest[0], self.TRAFFIC.replace("50", "1e300"), *rest], [start, *rest, MEMORY.replace("8000.000", many), *rest],
                     [start, *rest, MEMORY.replace('"calls":12', '"calls":0'), *rest]):
            status, said, _ = self.report(*text)
            self.assertEqual(status, 3)
            self.assertRegex(said, r"unusual\.trace, line \d+: this is no line of a trace")


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

    def test_memory_of_the_node(self):
        found = self.samples(("job", trace_file.read(self.file("memory.trace", "\n".join([*lines(), MEMORY]) + "\n"))))
        labels = 'trace="job",node="n0"'
        self.assertEqual(found["nezha_memory_calls_total", labels], 12)
        self.assertEqual(found["nezha_memory_stage_seconds_total", f'{labels},stage="copied in"'], 0.001)
        self.assertEqual(found["nezha_memory_stage_seconds_total", f'{labels},stage="rest"'], 0.003)

    def test_names_of_files(self):
        trace = trace_file.read(self.trace())
        found = self.samples(('a"b\\c', trace), ("d", trace))
        self.assertIn(("nezha_lane_events_total", r'trace="a\"b\\c",node="n0",event="lost"'), found)
        self.assertIn(("nezha_lane_events_total", 'trace="d",node="n0",event="lost"'), found)


if __name__ == "__main__":
    unittest.main()
