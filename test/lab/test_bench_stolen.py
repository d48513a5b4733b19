# SPDX-License-Identifier: BSD-3-Clause
"""Measurements during which the host of a virtual machine took processor time; needs no lab."""

import io
import os
import tempfile
import types
import unittest
from unittest import mock

import nezha_bench.rounds
from bench_case import LIMITS, SIZES, launch, measured, rounds
from nezha_bench import stolen, summary, table
from nezha_bench.cases import PRESETS
from nezha_bench.competitors import Effort
from nezha_lab import awake
from rich.console import Console


class Stolen(unittest.TestCase):
    """What the host of a virtual machine takes."""

    def found(self, disturbed):
        """In so many rounds Nezha at 1 KiB took ten times as long while the host was at it."""
        made = rounds()
        for launches in made[:disturbed]:
            launches["nezha"].sizes[1024].update(avg_us=500.0, stolen=0.2)
        return summary.summarise(measured(made, LIMITS))

    def text(self, found):
        out = io.StringIO()
        table.print_summary(found, Console(file=out, width=80))
        return out.getvalue()

    def test_what_it_disturbed_does_not_count(self):
        found = self.found(3)
        small, large = found["sizes"]
        self.assertEqual((small["competitors"]["nezha"]["us"]["samples"], large["competitors"]["nezha"]["us"]["samples"]), (3, 6))
        self.assertAlmostEqual(small["competitors"]["ompi-all"]["over_subject"]["median"], 1.5)
        self.assertAlmostEqual(small["noise_floor"], 0.0)
        self.assertRegex(self.text(found), r"up to 20 % .* \(3 of 36\) do not count")
        self.assertNotIn("s: there", self.text(found))

    def test_where_too_little_is_left_all_counts_and_is_marked(self):
        found = self.found(4)
        self.assertEqual(found["sizes"][0]["competitors"]["nezha"]["us"]["samples"], 6)
        self.assertEqual([row["restless"] for row in found["sizes"]], [True, False])
        self.assertIn("s: there they do count", self.text(found))

    def test_nothing_is_said_where_nothing_was_taken(self):
        self.assertNotIn("steal", self.text(self.found(0)))

    def test_parts_since_the_one_before(self):
        with tempfile.TemporaryDirectory() as place:
            def ticks(*numbers):
                with open(f"{place}/stat", "w", encoding="ascii") as file:
                    file.write(f"cpu  {' '.join(map(str, numbers))}\ncpu0 9 9\n")
                return f"{place}/stat"

            watch = stolen.Watch(ticks(10, 0, 10, 80, 0, 0, 0, 5, 3, 0))
            self.assertEqual(watch.part(), 0.0)
            ticks(20, 0, 20, 150, 0, 0, 0, 15, 9, 0)
            self.assertEqual(watch.part(), 0.1)


class Patience(unittest.TestCase):
    """Further rounds of what the host disturbed."""

    def measure(self, patience, calm_from):
        """Three rounds of Nezha alone; at 1 KiB the host is at it in each launch before number `calm_from`."""
        launcher = types.SimpleNamespace(case=PRESETS["1+1"], effort=Effort(tuple(SIZES), 0.1))
        self.asked = []

        def run(_, own, who, *_more):
            done = launch(who, {size: SIZES[size] for size in own.effort.sizes}, {1024: 0, 1 << 20: 12})
            done.sizes[1024]["stolen"] = 0.2 if len(self.asked) < calm_from else 0.0
            self.asked.append(own.effort.sizes)
            return done

        lab = mock.Mock(limit_seconds=lambda size, nodes: LIMITS[size])
        found = nezha_bench.rounds.measure(lab, launcher, "nezha", ["nezha"], 3, mock.Mock(), run=run, patience=patience)
        self.assertEqual(launcher.effort.sizes, tuple(SIZES))
        return found

    def test_what_was_disturbed_is_measured_until_enough_is_calm(self):
        found = self.measure(60.0, calm_from=5)
        self.assertEqual(self.asked, 6 * [tuple(SIZES)] + 6 * [(1024,)])
        small, large = summary.summarise(found)["sizes"]
        self.assertEqual([row["restless"] for row in (small, large)], [False, False])
        self.assertEqual([row["competitors"]["nezha"]["us"]["samples"] for row in (small, large)], [3, 3])

    def test_without_patience_the_rounds_are_what_was_asked(self):
        self.measure(0.0, calm_from=5)
        self.assertEqual(len(self.asked), 6)

    def test_where_all_was_calm_nothing_is_measured_again(self):
        self.measure(60.0, calm_from=0)
        self.assertEqual(len(self.asked), 6)


class Awake(unittest.TestCase):
    def test_the_request_lasts_as_long_as_the_file_is_open(self):
        with tempfile.TemporaryDirectory() as place:
            path = f"{place}/device"
            with open(path, "wb"):
                pass
            with awake.processors(path) as held:
                self.assertTrue(held)
                with open(path, "rb") as device:
                    self.assertEqual(device.read(), bytes(4))
                self.assertIn(path, self.open_files())
            self.assertNotIn(path, self.open_files())

    @staticmethod
    def open_files():
        return [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]

    def test_a_machine_that_does_not_let_us_is_measured_all_the_same(self):
        with awake.processors("/nonexistent/device") as held:
            self.assertFalse(held)


if __name__ == "__main__":
    unittest.main()
