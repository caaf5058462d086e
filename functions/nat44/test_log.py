#!/usr/bin/env python3
"""In which order blocks and releases are written. Needs finsy."""

import asyncio
import contextlib
import importlib.util
import io
import ipaddress
import pathlib
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
A, B = "10.0.0.5", "10.0.0.6"
FIRST, SECOND = ("203.0.113.1", 1024, 512), ("203.0.113.1", 1536, 512)


def program():
    """The control program as a module; its own name is that of the module in lib."""
    spec = importlib.util.spec_from_file_location("nat_control", HERE / "control.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Switch:
    """Has these blocks, and tells these subscribers as released."""

    p4info = None

    def __init__(self):
        self.blocks = {}
        self.told = []

    async def read(self, wanted):
        inside = wanted.match["inside"]
        if inside in self.blocks:
            external, base, _ = self.blocks[inside]
            args = {"addr": int(ipaddress.IPv4Address(external)), "base": base}
            yield types.SimpleNamespace(action=types.SimpleNamespace(args=args))

    async def read_idle_timeouts(self):
        for inside in self.told:
            entry = types.SimpleNamespace(match={"inside": int(ipaddress.IPv4Address(inside))})
            yield types.SimpleNamespace(table_entry=[entry])


class Lines(list):
    """In place of the log's file."""

    def note(self, event, **fields):
        self.append({"event": event, **fields})


@unittest.skipUnless(importlib.util.find_spec("finsy"), "finsy is not installed")
class Log(unittest.TestCase):
    def setUp(self):
        self.switch, self.log = Switch(), Lines()
        self.nat = program().Nat(self.switch, HERE / "nat44.toml", self.log, [])

    def block(self, inside, block):
        external, first_port, ports = block
        fields = {
            "inside_addr": int(ipaddress.IPv4Address(inside)),
            "external_addr": int(ipaddress.IPv4Address(external)),
            "first_port": first_port,
            "ports": ports,
        }
        asyncio.run(self.nat.digest("block_t", fields))

    def tell(self, *insides):
        self.switch.told = insides
        asyncio.run(self.nat.releases())

    def lines(self):
        return [(one["event"], one["inside"], (one["external"], one["first_port"], one["ports"])) for one in self.log]

    def test_a_release_that_is_told_late_is_of_the_former_block(self):
        self.block(A, FIRST)
        self.switch.blocks[A] = SECOND
        self.block(A, SECOND)
        self.tell(A)
        self.assertEqual(self.lines(), [("block", A, FIRST), ("release", A, FIRST), ("block", A, SECOND)])
        self.nat.released.clear()
        self.tell(A)
        self.assertEqual(self.lines()[3:], [("release", A, SECOND)])

    def test_a_block_is_given_back_before_another_subscriber_gets_it(self):
        self.block(A, FIRST)
        self.switch.blocks[B] = FIRST
        self.block(B, FIRST)
        self.tell(A)
        self.assertEqual(self.lines(), [("block", A, FIRST), ("release", A, FIRST), ("block", B, FIRST)])

    def test_a_block_that_the_switch_has_not_given_is_not_written(self):
        self.block(A, FIRST)
        self.switch.blocks[A] = FIRST
        self.block(A, SECOND)
        self.block(B, FIRST)
        self.tell(A)
        self.assertEqual(self.lines(), [("block", A, FIRST), ("release", A, FIRST)])


    def test_blocks_that_no_pool_has_any_more_are_ended(self):
        """Another external address, another pool, no pool."""
        others = {"10.1.0.5": ("203.0.113.2", 1024, 512), "10.1.0.6": ("203.0.113.1", 2048, 512), "192.168.0.5": ("203.0.113.1", 2560, 512)}
        for inside, block in {A: FIRST, B: ("203.0.113.9", 1024, 512), **others}.items():
            self.block(inside, block)
        settings = {
            "pool": [
                {"inside": "10.0.0.0/8", "addresses": ["203.0.113.1"]},
                {"inside": "10.1.0.0/16", "addresses": ["203.0.113.2/31"]},
            ]
        }
        asked = []

        async def delete_learnt(table, action, is_right):
            asked.append((table, action))
            blocks = self.nat.blocks.items() if table == "subscribers" else ()
            inside = [inside for inside, block in blocks if not is_right(inside, block[0])]
            return [types.SimpleNamespace(match={"inside": int(ipaddress.IPv4Address(one))}) for one in inside]

        self.nat.delete_learnt = delete_learnt
        with contextlib.redirect_stdout(io.StringIO()) as said:
            asyncio.run(self.nat.end_mappings(settings))
            asyncio.run(self.nat.end_mappings(settings))
        self.assertEqual(asked, [("subscribers", "owns"), ("outbound", "translate")])
        self.assertEqual([inside for event, inside, _ in self.lines() if event == "release"], [B, "10.1.0.6", "192.168.0.5"])
        self.assertEqual(sorted(self.nat.blocks), [A, "10.1.0.5"])
        self.assertIn("3 blocks and 0 mappings", said.getvalue())


if __name__ == "__main__":
    unittest.main()
