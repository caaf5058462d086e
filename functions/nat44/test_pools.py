#!/usr/bin/env python3
"""Which numbers external addresses get, and what the program is compiled for. The latter needs finsy."""

import importlib.util
import pathlib
import sys
import unittest

from pools import numbered

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))


def program():
    """The control program as a module; its own name is that of the module in lib."""
    spec = importlib.util.spec_from_file_location("nat_control", HERE / "control.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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

    @unittest.skipUnless(importlib.util.find_spec("finsy"), "finsy is not installed")
    def test_every_block_has_room_for_its_subscriber(self):
        control = program()
        settings = {"pool": [{"inside": "10.0.0.0/8", "addresses": ["198.18.0.0/25"]}]}
        self.assertEqual(control.defines(settings), ["ADDRESSES=128", "BLOCK_BITS=9"])
        self.assertEqual(
            control.defines({**settings, "block_ports": 64}), ["ADDRESSES=128", "BLOCK_BITS=6", "SUBSCRIBERS=129024"]
        )


if __name__ == "__main__":
    unittest.main()
