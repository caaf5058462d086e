#!/usr/bin/env python3
"""Which numbers things of a file get."""

import unittest

from numbering import numbered


class Numbering(unittest.TestCase):
    def test_places_are_the_first_numbers(self):
        self.assertEqual(numbered("abc", {}, (), 9), {"a": 1, "b": 2, "c": 3})

    def test_what_has_a_number_keeps_it(self):
        self.assertEqual(numbered("xbca", {"a": 1, "b": 2, "c": 3}, {1, 2, 3}, 9), {"x": 4, "b": 2, "c": 3, "a": 1})

    def test_a_number_that_was_used_is_used_again_only_when_no_other_is_left(self):
        self.assertEqual(numbered("xy", {}, {1}, 9), {"x": 2, "y": 3})
        self.assertEqual(numbered("xy", {}, {1, 2}, 2), {"x": 1, "y": 2})

    def test_two_never_get_one_number(self):
        self.assertEqual(numbered("ab", {"a": 2, "b": 2}, {2}, 9), {"a": 2, "b": 1})


if __name__ == "__main__":
    unittest.main()
