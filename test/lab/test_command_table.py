# SPDX-License-Identifier: BSD-3-Clause
"""nezha table: files of learned ways, as the component's parser has them."""

import json
import os
import tempfile
import unittest

from bench_case import TOP
from command_case import CommandCase, plain
from documents import manual_example

LEARNED = os.path.join(TOP, "test", "tables", "learned.json")


class Table(CommandCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def changed(self, *replacements):
        with open(LEARNED, encoding="utf-8") as file:
            text = file.read()
        for old, new in replacements:
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = os.path.join(self.directory.name, "changed.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_show(self):
        text = plain(self.nezha("table", "show", LEARNED))
        self.assertIn("4 ranks on 4 nodes", text)
        self.assertIn("64K ring 446.0 us incumbent 1.57 x 1200 tcp/eth0 50 %, tcp/eth1 50 %", text)
        self.assertIn("5 and more ranks", text)
        self.assertIn("1M and more ring", text)

    def test_show_for_scripts(self):
        found = json.loads(self.nezha("table", "show", LEARNED, "--json"))["communicators"]
        self.assertEqual([entry["ranks"] for entry in found], [[4, 4], [5, None]])
        for rule in (rule for entry in found for rule in entry["rules"]):
            self.assertEqual([type(rule[name]) for name in ("first", "calls")], [int, int])
            self.assertIn(type(rule["last"]), (int, type(None)))
        self.assertEqual(found[0]["rules"][0]["measured"][1], {"way": "incumbent", "us": 702.0})

    def test_check(self):
        """The file is the manual page's example."""
        with open(LEARNED, encoding="utf-8") as file:
            self.assertEqual(file.read(), manual_example("nezha-table.5"))
        self.assertEqual(self.nezha("table", "check", LEARNED), f"{LEARNED} is sound\n")

    def test_refused(self):
        path = self.changed(('"ring"', '"rings"'))
        for verb in ("check", "show"):
            text = self.nezha("table", verb, path, status=1)
            self.assertRegex(text, r"changed.json is refused: .*line \d+, column \d+.*rings")

    def test_one_sound_and_one_refused(self):
        text = self.nezha("table", "check", LEARNED, self.changed(('"nezha"', '"tuned"')), status=1)
        self.assertRegex(text, "learned.json is sound\n.*changed.json is refused: ")

    def test_all_are_checked(self):
        """Also those behind one that cannot be read."""
        refused = self.changed(('"nezha"', '"tuned"'))
        lines = self.nezha("table", "check", "/nonexistent", refused, LEARNED, status=3).splitlines()
        self.assertRegex(lines[0], "^/nonexistent could not be checked: ")
        self.assertRegex(lines[1], "changed.json is refused: ")
        self.assertEqual(lines[2], f"{LEARNED} is sound")
        found = json.loads(self.nezha("table", "check", "/nonexistent", refused, LEARNED, "--json", status=3))
        self.assertEqual((list(found["unread"]), list(found["refused"])), (["/nonexistent"], [refused]))

    def test_alike(self):
        self.assertEqual(self.nezha("table", "diff", LEARNED, self.changed(("446000", "445000"))), "They choose alike.\n")

    def test_one_rail(self):
        path = self.changed(('"alg": "ring",', '"alg": "ring", "rails": "one",'))
        self.assertEqual(self.nezha("table", "check", path), f"{path} is sound\n")
        self.assertIn("64K ring on one rail 446.0 us incumbent", plain(self.nezha("table", "show", path)))
        self.assertIn("ring ring on one rail", plain(self.nezha("table", "diff", LEARNED, path, status=1)))
        path = self.changed(('"alg": "ring",', '"alg": "ring", "rails": "two",'))
        self.assertRegex(self.nezha("table", "check", path, status=1), 'line .*rails takes one of one, all, or a list of names, not "two"')

    def test_named_rails(self):
        named = ('"alg": "ring",', '"alg": "ring", "rails": ["tcp/eth1", "tcp/eth0"],')
        self.assertRegex(self.nezha("table", "check", self.changed(named), status=1),
                         "line .*rails are named from version 2 of the format on")
        path = self.changed(named, ('"rule_file_version": 1', '"rule_file_version": 2'))
        self.assertEqual(self.nezha("table", "check", path), f"{path} is sound\n")
        self.assertIn("64K ring on tcp/eth1 and tcp/eth0 446.0 us incumbent", plain(self.nezha("table", "show", path)))
        self.assertIn("ring ring on tcp/eth1 and tcp/eth0", plain(self.nezha("table", "diff", LEARNED, path, status=1)))

    def test_diff(self):
        path = self.changed(('"msg_size_min": 1048576,\n            "alg": "ring"', '"msg_size_min": 1048576,\n            "alg": "mesh"'))
        self.assertIn("5 and more ranks 1M and more ring mesh", plain(self.nezha("table", "diff", LEARNED, path, status=1)))

    def test_wrong_arguments(self):
        self.nezha("table", "diff", LEARNED, status=2)
        self.nezha("table", "show", "/nonexistent", status=3)

    def test_a_directory_is_told(self):
        self.assertIn(f"{self.directory.name}: Is a directory", plain(self.nezha("table", "check", self.directory.name, status=3)))

    def test_unknown_verbs(self):
        self.nezha("table", "lose", LEARNED, status=2)


if __name__ == "__main__":
    unittest.main()
