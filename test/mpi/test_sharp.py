#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A part of large vectors goes through the SHARP library, of which test/sharp/stub.cc has the place, to an aggregation service of
this host: sums, what the report says of it, and calls in which it fails."""

import itertools
import os
import re
import subprocess
import tempfile
import unittest

from mpi_case import BUILD, RAILS, MpiCase

STUB = os.path.join(BUILD, "test", "sharp", ".libs", "stub.so")
SERVICE = os.path.join(BUILD, "nezha-aggregate")
CALLS = "10"


class Sharp(MpiCase):
    def setUp(self):
        self.assertTrue(os.path.exists(STUB), f"{STUB} was not built: configure it by --with-sharp")
        key = self.enterContext(tempfile.NamedTemporaryFile("w"))  # mode 0600
        key.write("k" * 32)
        key.flush()
        service = subprocess.Popen([SERVICE, "--key", key.name, "--listen", "0", "--set", "single_node=2"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(service.wait, 30)
        self.addCleanup(service.terminate)
        with service.stdout as output:
            port = re.search(r"ready at port (\d+)", output.readline())[1]
        self.place = f"127.0.0.1:{port} {key.name} single_node=2"

    def run_with(self, faults="", share="50", **params):
        """Its job has right sums; returns what it wrote to standard error."""
        params = {**RAILS, "coll_nezha_sharp": "1", "coll_nezha_sharp_library": STUB, "coll_nezha_aggregator_share": share,
                  "coll_nezha_report": "1", "coll_nezha_verbose": "1", "coll_nezha_connect_timeout": "2",
                  **{f"coll_nezha_{name}": value for name, value in params.items()}}
        env = {"NEZHA_SHARP_STUB": faults, "NEZHA_SHARP_STUB_SERVICE": self.place}
        return self.passes("sharp", 3, CALLS, params=params, env=env, timeout=120).stderr

    def shares(self, text):
        """Per cent of each size that the report says went through it; of none: no column."""
        lines = text.splitlines()
        head = next(number for number, line in enumerate(lines) if line.split()[:2] == ["size", "calls"])
        if "aggregator %" not in lines[head]:
            return []
        rows = itertools.takewhile(lambda row: row[:1] == ["from"], map(str.split, lines[head + 1:]))
        return [float(row[-1]) for row in rows if row[2] == "MiB"]

    def test_share_in_the_report(self):
        text = self.run_with()
        self.assertIn("reduces through SHARP too", text)
        self.assertEqual(self.shares(text), [50.0, 50.0])  # of 1 MiB and of 2 MiB

    def test_found_by_trying(self):
        self.assertIn("reduces through SHARP too", self.run_with(share="auto"))

    def test_an_error_in_a_call(self):
        text = self.run_with("rank=1,error=4")
        self.assertIn("without SHARP: a sum of the SHARP library: an error of the stub (-1)", text)
        self.assertEqual(self.shares(text), [20.0, 20.0])  # of two calls in five of each size

    def test_a_library_that_does_not_answer(self):
        self.assertIn("not answered within coll_nezha_connect_timeout = 2 s", self.run_with("rank=2,init=hang"))

    def test_not_where_bits_are_pinned(self):
        text = self.run_with(reproducible="1")
        self.assertNotIn("SHARP", text)
        self.assertEqual(self.shares(text), [])

    def test_help_text(self):
        self.says("Nezha: coll_nezha_sharp is set, and a communicator goes over the rails alone.* Reason: the SHARP library cannot "
                  "be opened: /nowhere", lambda: self.passes("sharp", 2, "2", params={
                      **RAILS, "coll_nezha_sharp": "1", "coll_nezha_sharp_library": "/nowhere"}))


if __name__ == "__main__":
    unittest.main()
