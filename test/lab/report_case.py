# SPDX-License-Identifier: BSD-3-Clause
"""A trace and a bench file to be reported."""

import itertools
import os
import tempfile
import unittest

from test_bench_summary import LIMITS, measured, rounds

from nezha_bench import document, summary
from nezha_bench.competitors import Effort, Launcher, Programs
from nezha_bench.cases import PRESETS

SWITCH = 8  # calls of the ring after which the mesh is chosen
EVENT = '{"kind":"lane","t":130.000,"event":"lost","lane":"tcp/eth1 - tcp/eth1","peer":"rank 1 on n1","why":"no <carrier>"}'
CALLS = '{"kind":"calls","t":200.000,"class":16,"calls":60,"us":410.000,"least_us":390.000,"way":"mesh","sent":[300000,100000]}'

# 8 ms in 12 calls, of which the process's own stages leave 3.
MEMORY = ('{"kind":"memory","t":210.000,"calls":12,"bytes":786432,"us":8000.000,"copied_in_us":1000.000,"reduced_us":2000.000,'
          '"gathered_us":500.000,"between_us":6000.000,"shared_us":1500.000}')


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


def aggregated():
    """Of the vectors of the mesh's calls a half went through an aggregator, and an eighth of those that are summed."""
    for line in lines():
        part = 0.5 if '"call"' in line else 0.125
        yield line.replace("]}", f'],"aggregated":{part}}}') if '"mesh"' in line else line


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
