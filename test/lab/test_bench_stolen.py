# SPDX-License-Identifier: BSD-3-Clause
"""Measurements during which the host of a virtual machine took processor time; needs no lab."""

import io
import os
import tempfile
import unittest

from bench_case import LIMITS, measured, rounds
from nezha_bench import stolen, summary, table
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
