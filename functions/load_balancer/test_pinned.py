#!/usr/bin/env python3
"""Which connections the control program pins to their back ends, and when it lets them go. Needs finsy."""

import asyncio
import importlib.util
import pathlib
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE))
from bed import has_finsy


def overflow(port, backend):
    addresses = {"client": 0xFFFF0A000005, "address": 0xFFFFC6336401}
    return {**addresses, "protocol": 6, "client_port": port, "service_port": 80, "backend": backend}


class Pinned(unittest.TestCase):
    def setUp(self):
        self.written = []
        program.control.write = self.write
        self.balancer = program.LoadBalancer(None, None, 7, 300)
        self.balancer.settings = {"backend": [{"number": 1}, {"number": 2}]}

    async def write(self, _switch, updates):
        self.written += [(kind, one.match["meta.client_port"], one.action.args["backend"]) for kind, one in updates]

    def pin(self, *overflows):
        asyncio.run(self.balancer.pin_all(overflows))

    def test_once(self):
        self.pin(overflow(4000, 1), overflow(4001, 2))
        self.pin(overflow(4000, 1))
        self.assertEqual(self.written, [(program.control.INSERT, 4000, 1), (program.control.INSERT, 4001, 2)])

    def test_a_dead_back_end_keeps_none(self):
        self.pin(overflow(4000, 1), overflow(4001, 2))
        self.balancer.dead = {1}
        asyncio.run(self.balancer.unpin_dead())
        # A digest that was on its way, and one of the back end to which the connection has moved.
        self.pin(overflow(4000, 1))
        self.pin(overflow(4000, 2))
        self.assertEqual(self.written[2:], [(program.control.DELETE, 4000, 1), (program.control.INSERT, 4000, 2)])

    def test_nor_does_one_that_the_file_has_no_more(self):
        self.pin(overflow(4000, 1), overflow(4001, 2))
        self.balancer.settings = {"backend": [{"number": 1}]}
        asyncio.run(self.balancer.unpin_dead())
        self.assertEqual(self.written[2:], [(program.control.DELETE, 4001, 2)])

    def test_a_connection_with_packets_since_it_was_reported_as_idle_stays(self):
        """The switch reports connections once more when they are idle again."""
        self.pin(overflow(4000, 1), overflow(4001, 2))
        idle = {4000: 301, 4001: 2}
        deleted = []

        async def read(wanted):
            port = wanted.match["client_port"]
            yield types.SimpleNamespace(time_since_last_hit=idle[port] * 10**9)

        async def delete(entries):
            deleted.extend(one.match["client_port"] for one in entries)

        async def read_idle_timeouts():
            reported = [types.SimpleNamespace(match=program.fy.Match(overflow(port, 0))) for port in idle]
            yield types.SimpleNamespace(table_entry=reported)

        self.balancer.switch = types.SimpleNamespace(read=read, delete=delete, read_idle_timeouts=read_idle_timeouts)
        asyncio.run(self.balancer.unpin())
        self.assertEqual(deleted, [4000])
        self.assertEqual(len(self.balancer.pinned), 1)


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    spec = importlib.util.spec_from_file_location("load_balancer_control", HERE / "control.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    unittest.main()
