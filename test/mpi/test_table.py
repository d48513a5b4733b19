#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# sanitizers: address undefined
"""The table's file: a job learns and saves, the next one begins with it; files that are not sound leave the job running."""

import json
import os
import re
import tempfile
import unittest

from mpi_case import RAILS, MpiCase

WAIT = "20"  # seconds that rails may take to come up on a busy machine
SIZES = [2, 11, 16, 20]  # classes of what the program "counters" calls: 4, 4000, 120000 and 1600000 bytes
LEARN = {**RAILS, "coll_nezha_learn": "1", "coll_nezha_verbose": "1"}


class Table(MpiCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "table.json")
        self.directory = directory.name

    def run_counters(self, rounds, params):
        return self.passes("counters", 3, str(rounds), WAIT, params=params)

    def learned(self):
        self.run_counters(400, {**LEARN, "coll_nezha_table_save": self.path})
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)

    def rules(self, table):
        shapes = table["collectives"]["allreduce"]
        self.assertEqual([(shape["comm_size_min"], shape["comm_size_max"]) for shape in shapes], [(3, 3)])
        return shapes[0]["rules"]

    def test_saved_and_known(self):
        table = self.learned()
        self.assertEqual((table["rule_file_version"], table["module"]), (1, "nezha"))
        rules = self.rules(table)
        sizes = [rule["msg_size_min"].bit_length() - 1 for rule in rules]
        self.assertLessEqual(set(SIZES), set(sizes))
        for rule in rules:
            self.assertIn(rule["alg"], [way["alg"] for way in rule["measured"]])
        self.assertTrue(any(set(rule.get("shares", {})) == {"tcp/lo0", "tcp/lo1"} for rule in rules), rules)
        self.assertEqual(os.listdir(self.directory), ["table.json"])

        done = self.run_counters(40, {**LEARN, "coll_nezha_table": self.path})
        self.assertIn(f": {len(rules)} message sizes are known from {self.path}", done.stderr)
        # What is known is looked at again after 256 calls, not before.
        self.assertNotRegex(done.stderr, r"from \d+k? bytes: .* after \d{1,2} calls", "nothing is tried")

    def test_frozen(self):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"rule_file_version": 1, "module": "nezha", "collectives": {"allreduce": [
                {"comm_size_min": 3, "rules": [{"alg": "incumbent"}]}]}}, file)
        done = self.run_counters(40, {**RAILS, "coll_nezha_learn": "0", "coll_nezha_table": self.path})
        self.nothing_carried(done)

    def test_kept_beside_others(self):
        other = {"comm_size_min": 7, "comm_size_max": 7, "comm_nodes_min": 7, "comm_nodes_max": 7,
                 "rules": [{"msg_size_min": 4, "msg_size_max": 7, "alg": "mesh", "calls": 5}]}
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"rule_file_version": 1, "module": "nezha", "collectives": {"allreduce": [other]}}, file)
        shapes = self.learned()["collectives"]["allreduce"]
        self.assertEqual(len(shapes), 2)
        self.assertIn(other, shapes)

    def test_broken(self):
        for text, reason in (("{\n  1}", "line 2, column 3: .*"), ("", "line 1, column 1: .*"),
                             ('{"rule_file_version": 9, "module": "nezha"}', "line 1, column 23: this is version 9 .*"),
                             (None, "cannot be opened: No such file or directory")):
            with self.subTest(text=text):
                path = self.path
                if text is None:
                    path += ".none"
                else:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                done = self.says(rf"File: {re.escape(path)} Node: \S+ Reason: {reason}",
                                 lambda: self.run_counters(40, {**LEARN, "coll_nezha_table": path}))
                self.assertGreater(self.counters(done)["calls"][0], 0)

    def test_foreign_file_is_not_overwritten(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write('{"module": "tuned"}')
        self.says(rf"File: {re.escape(self.path)} Node: \S+ Reason: what is there cannot be read as a table: line 1, column 12: ",
                  lambda: self.run_counters(400, {**LEARN, "coll_nezha_table_save": self.path}))
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), '{"module": "tuned"}')


if __name__ == "__main__":
    unittest.main()
