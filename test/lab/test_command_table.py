# SPDX-License-Identifier: BSD-3-Clause
"""nezha table: files of learned ways, as the component's parser has them."""

import json
import os
import tempfile
import unittest

from bench_case import TOP
from command_case import CommandCase, plain
from documents import manual_example

from nezha_command import table_diff

LEARNED = os.path.join(TOP, "test", "tables", "learned.json")


class Table(CommandCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def changed(self, *replacements, name="changed.json"):
        with open(LEARNED, encoding="utf-8") as file:
            text = file.read()
        for old, new in replacements:
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = os.path.join(self.directory.name, name)
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

    def test_odd_letters(self):
        """What other programs take for ends of lines, and a terminal for commands."""
        for letter in "\u2028", "\u0085":
            path = self.changed(("tcp/eth0", f"tcp/{letter}0"))
            self.assertIn(f"tcp/{letter}0", json.loads(self.nezha("table", "show", path, "--json"))["communicators"][0]["rules"][0]["shares"])
        for letter in "\\u001c", "\\u001b[31m", "\\r":
            path = self.changed(("tcp/eth0", f"tcp/{letter}0"))
            self.assertIn("a rail's name has no blanks and no control characters", self.nezha("table", "check", path, status=1))

    def test_a_name_that_is_no_utf8(self):
        path = self.changed(("446000", "445000"), name="changed\udcff.json")
        self.assertEqual(self.nezha("table", "check", path), f"{self.directory.name}/changed\ufffd.json is sound\n")
        path = self.changed(('"ring"', '"mesh"'), name="changed\udcff.json")
        self.assertIn("changed\ufffd.json", self.nezha("table", "diff", LEARNED, path, status=1))

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
        self.assertIn("64K ring on tcp/eth0 and tcp/eth1 446.0 us incumbent", plain(self.nezha("table", "show", path)))
        self.assertIn("ring ring on tcp/eth0 and tcp/eth1", plain(self.nezha("table", "diff", LEARNED, path, status=1)))

    def test_the_order_of_named_rails_is_no_difference(self):
        paths = [self.changed(('"alg": "ring",', f'"alg": "ring", "rails": {rails},'), ('"rule_file_version": 1', '"rule_file_version": 2'),
                              name=name) for name, rails in (("one.json", '["tcp/eth1", "tcp/eth0"]'), ("other.json", '["tcp/eth0", "tcp/eth1"]'))]
        self.assertEqual(self.nezha("table", "diff", *paths), "They choose alike.\n")

    def test_diff(self):
        path = self.changed(('"msg_size_min": 1048576,\n            "alg": "ring"', '"msg_size_min": 1048576,\n            "alg": "mesh"'))
        self.assertIn("5 and more ranks 1M and more ring mesh", plain(self.nezha("table", "diff", LEARNED, path, status=1)))
        self.assertEqual(json.loads(self.nezha("table", "diff", LEARNED, path, "--json", status=1)), {"differences": [
            {"communicator": "5 and more ranks", "size": "1M and more", "one": "ring", "other": "mesh"}]})

    def test_wrong_arguments(self):
        self.nezha("table", "diff", LEARNED, status=2)
        self.nezha("table", "show", "/nonexistent", status=3)

    def test_a_directory_is_told(self):
        self.assertIn(f"{self.directory.name}: Is a directory", plain(self.nezha("table", "check", self.directory.name, status=3)))

    def test_unknown_verbs(self):
        self.nezha("table", "lose", LEARNED, status=2)


def choosing(*communicators):
    """A table as ask.table() has it: of each communicator ranks, nodes and rules, these (first, last, way)."""
    return {"communicators": [{"ranks": list(ranks), "nodes": list(nodes),
                               "rules": [dict(zip(("first", "last", "way"), rule)) for rule in rules]}
                              for ranks, nodes, rules in communicators]}


class Differences(unittest.TestCase):
    """Between what tables choose, by whatever entries."""

    ANY = (0, None)
    K = 1024

    def of_rules(self, one, other):
        found = table_diff.differences(*(choosing((self.ANY, self.ANY, rules)) for rules in (one, other)))
        self.assertEqual({row[:2] for row in found}, {(self.ANY, self.ANY)} if found else set())
        return [row[2:] for row in found]

    def test_the_first_rule_that_fits_counts(self):
        ring, mesh = (64 * self.K, 128 * self.K - 1, "ring"), (64 * self.K, 1024 * self.K - 1, "mesh")
        self.assertEqual(self.of_rules([ring, mesh], [mesh, ring]), [((64 * self.K, 128 * self.K - 1), "ring", "mesh")])

    def test_several_rules_in_place_of_one(self):
        parts = [(64 * self.K, 128 * self.K - 1, "ring"), (128 * self.K, 256 * self.K - 1, "ring")]
        whole = [(64 * self.K, 256 * self.K - 1, "ring")]
        self.assertEqual(self.of_rules(parts, whole), [])
        self.assertEqual(self.of_rules(parts, []), [((64 * self.K, 256 * self.K - 1), "ring", "")])
        self.assertEqual(self.of_rules(whole, [(0, None, "mesh")]),
                         [((0, 64 * self.K - 1), "", "mesh"), (whole[0][:2], "ring", "mesh"), ((256 * self.K, None), "", "mesh")])

    def test_the_first_communicator_that_fits_counts(self):
        ring, mesh = [(0, None, "ring")], [(0, None, "mesh")]
        four, few = ((4, 4), (4, 4), ring), ((2, 8), self.ANY, mesh)
        self.assertEqual(table_diff.differences(choosing(four, few), choosing(few, four)),
                         [((4, 4), (4, 4), (0, None), "ring", "mesh")])
        self.assertEqual(table_diff.differences(choosing(four), choosing((self.ANY, self.ANY, ring), four)),
                         [((0, 3), self.ANY, (0, None), "", "ring"), ((4, 4), (0, 3), (0, None), "", "ring"),
                          ((4, 4), (5, None), (0, None), "", "ring"), ((5, None), self.ANY, (0, None), "", "ring")])
        halves = ((2, 5), self.ANY, mesh), ((6, 8), (0, 2), mesh), ((6, 8), (3, None), mesh)
        self.assertEqual(table_diff.differences(choosing(few), choosing(*halves)), [])


if __name__ == "__main__":
    unittest.main()
