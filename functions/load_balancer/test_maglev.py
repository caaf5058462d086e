#!/usr/bin/env python3
"""What Maglev tables must be: balanced, by weights, and stable when back ends come and go."""

import collections
import unittest

from maglev import table

SLOTS = 4093


def shares(chosen):
    return collections.Counter(chosen)


def changed(one, other):
    return sum(before != after for before, after in zip(one, other, strict=True))


class Maglev(unittest.TestCase):
    def test_equal_weights_give_equal_shares(self):
        counts = shares(table([f"b{number}" for number in range(10)], SLOTS))
        self.assertLessEqual(max(counts.values()) - min(counts.values()), 1)

    def test_weights_are_kept(self):
        counts = shares(table({"a": 1, "b": 2, "c": 5}, SLOTS))
        for name, weight in (("a", 1), ("b", 2), ("c", 5)):
            self.assertAlmostEqual(counts[name] / SLOTS, weight / 8, delta=0.002)

    def test_weight_zero_gets_nothing(self):
        self.assertEqual(set(table({"a": 1, "b": 0}, SLOTS)), {"a"})
        self.assertEqual(set(table({"a": 0}, SLOTS)), {None})

    def test_a_back_end_that_goes_moves_little_else(self):
        names = [f"b{number}" for number in range(10)]
        before, after = table(names, SLOTS), table(names[:-1], SLOTS)
        others = sum(one != other for one, other in zip(before, after, strict=True) if one != "b9")
        self.assertLess(others / SLOTS, 0.06)

    def test_a_back_end_that_comes_takes_its_share(self):
        names = [f"b{number}" for number in range(9)]
        self.assertLess(changed(table(names, SLOTS), table([*names, "b9"], SLOTS)) / SLOTS, 0.16)

    def test_order_does_not_matter(self):
        self.assertEqual(table(["a", "b", "c"], SLOTS), table(["c", "a", "b"], SLOTS))


if __name__ == "__main__":
    unittest.main()
