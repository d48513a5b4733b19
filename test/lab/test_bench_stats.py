# SPDX-License-Identifier: BSD-3-Clause
"""What the comparison concludes from its numbers; needs neither lab nor build."""

import random
import statistics
import unittest

import bench_case  # noqa: F401 (sets the path)
from nezha_bench import stats
from nezha_bench.competitors import order


class Estimates(unittest.TestCase):
    def test_known_intervals(self):
        # of 15 samples the 4th to the 12th: 1 - 2 * (1 + 15 + 105 + 455) / 2^15
        found = stats.estimate(range(1, 16))
        self.assertEqual((found.median, found.low, found.high), (8, 4, 12))
        self.assertAlmostEqual(found.coverage, 1 - 2 * 576 / 2**15)
        # of 6 the first and the last: 1 - 2 / 2^6
        found = stats.estimate([6, 5, 4, 3, 2, 1])
        self.assertEqual((found.median, found.low, found.high), (3.5, 1, 6))
        self.assertAlmostEqual(found.coverage, 1 - 2 / 64)

    def test_few_samples_admit_their_coverage(self):
        found = stats.estimate([3.0, 1.0, 2.0])
        self.assertEqual((found.low, found.high, found.coverage), (1.0, 3.0, 0.75))
        self.assertEqual(stats.estimate([5.0]), stats.Estimate(5.0, 5.0, 5.0, 0.0, 1))

    def test_intervals_hold_the_true_median_as_often_as_they_say(self):
        draw = random.Random(7)
        for count in (6, 15, 20):
            trials, held = 4000, 0
            for _ in range(trials):
                found = stats.estimate([draw.expovariate(1.0) for _ in range(count)])
                held += found.low <= 0.693147 <= found.high
            self.assertGreater(held / trials, stats.CONFIDENCE - 0.012)
            self.assertAlmostEqual(held / trials, found.coverage, delta=0.012)


class Ratios(unittest.TestCase):
    def test_what_disturbs_a_round_cancels(self):
        load = [1.0, 3.0, 1.2, 7.0, 1.1, 2.0]
        ratio = stats.estimate(stats.pair_ratios([2.0 * x for x in load], load))
        self.assertEqual((ratio.median, ratio.low, ratio.high), (2.0, 2.0, 2.0))

    def test_a_missing_round_is_an_error(self):
        with self.assertRaises(ValueError):
            stats.pair_ratios([1.0, 2.0], [1.0])

    def test_noise_floor_is_the_far_end_of_the_interval(self):
        self.assertAlmostEqual(stats.noise_floor([0.9, 1.0, 1.0, 1.0, 1.0, 1.04]), 0.1)
        self.assertAlmostEqual(stats.noise_floor([0.99, 1.0, 1.0, 1.0, 1.0, 1.2]), 0.2)

    def test_geometric_mean(self):
        self.assertAlmostEqual(stats.geometric_mean([2.0, 0.5, 8.0]), 2.0)


class Verdicts(unittest.TestCase):
    @staticmethod
    def of(median, low, high, floor):
        return stats.verdict(stats.Estimate(median, low, high, 0.96, 15), floor)

    def test_resolved(self):
        self.assertEqual(self.of(1.2, 1.1, 1.3, 0.05), stats.FASTER)
        self.assertEqual(self.of(0.8, 0.7, 0.9, 0.05), stats.SLOWER)

    def test_under_the_floor(self):
        self.assertEqual(self.of(1.04, 1.03, 1.05, 0.05), stats.UNRESOLVED)
        self.assertEqual(self.of(0.96, 0.95, 0.97, 0.05), stats.UNRESOLVED)

    def test_an_interval_with_one_in_it(self):
        self.assertEqual(self.of(1.2, 0.99, 1.5, 0.01), stats.UNRESOLVED)

    def test_few_rounds(self):
        for samples, told in (([1.2], stats.UNRESOLVED), ([1.2, 1.3], stats.UNRESOLVED), ([1.2, 1.3, 1.4], stats.FASTER)):
            self.assertEqual(stats.verdict(stats.estimate(samples), 0.0), told)

    def test_the_same_thing_twice_is_seldom_told_apart(self):
        draw = random.Random(11)

        def times(count):
            return [draw.lognormvariate(0.0, 0.1) for _ in range(count)]

        for count in (1, 2, 3, 15):
            told_apart = 0
            for _ in range(4000):
                base = times(count)
                ratio = stats.estimate(stats.pair_ratios(times(count), base))
                told_apart += stats.verdict(ratio, stats.noise_floor(stats.pair_ratios(times(count), base))) != stats.UNRESOLVED
            self.assertLess(told_apart / 4000, 1 - stats.CONFIDENCE + 0.01, count)


class Order(unittest.TestCase):
    def test_nobody_keeps_a_place(self):
        names = ["a", "b", "c", "d", "again"]
        rounds = [order(names, number) for number in range(10)]
        for sequence in rounds:
            self.assertEqual(sorted(sequence), sorted(names))
        for name in names:
            places = [sequence.index(name) for sequence in rounds]
            self.assertEqual(len(set(places)), len(names))
            self.assertAlmostEqual(statistics.mean(places), 2.0, delta=0.3)


if __name__ == "__main__":
    unittest.main()
