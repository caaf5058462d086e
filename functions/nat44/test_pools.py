#!/usr/bin/env python3
"""Which numbers external addresses get."""

import unittest

from pools import numbered


class Pools(unittest.TestCase):
    def test_numbers_begin_in_the_order_of_the_file(self):
        self.assertEqual(numbered({"x": ["a", "b"], "y": ["c"]}, {}), (["a", "b", "c"], {"x": 0, "y": 2}))

    def test_addresses_keep_their_numbers_in_another_order(self):
        known = {"a": 0, "b": 1, "c": 2}
        self.assertEqual(numbered({"y": ["c"], "x": ["b", "a"]}, known), (["a", "b", "c"], {"x": 0, "y": 2}))

    def test_an_address_may_go_to_the_pool_beside(self):
        known = {"a": 0, "b": 1, "c": 2}
        self.assertEqual(numbered({"x": ["a"], "y": ["b", "c"]}, known), (["a", "b", "c"], {"x": 0, "y": 1}))

    def test_a_new_address_gets_the_number_that_is_free(self):
        known = {"a": 0, "b": 1, "c": 2}
        self.assertEqual(numbered({"y": ["d", "c"], "x": ["a"]}, known), (["a", "d", "c"], {"x": 0, "y": 1}))
        self.assertEqual(numbered({"z": ["d"], "y": ["c"], "x": ["a"]}, known)[0], ["a", "d", "c"])

    def test_pools_whose_addresses_are_apart_are_refused(self):
        with self.assertRaisesRegex(ValueError, "x"):
            numbered({"x": ["a", "c"], "y": ["b"]}, {"a": 0, "b": 1, "c": 2})


if __name__ == "__main__":
    unittest.main()
