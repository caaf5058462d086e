#!/usr/bin/env python3
"""Which addresses the control program of the bridge learns, without a switch. Needs finsy."""

import asyncio
import collections
import contextlib
import importlib.util
import io
import pathlib
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import has_finsy


def program():
    """The control program as a module; its own name is that of the module in lib."""
    spec = importlib.util.spec_from_file_location("bridge_control", HERE / "control.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def written(*_, **__):
    """In place of a switch."""


class Learning(unittest.TestCase):
    def known(self, *frames):
        """Address -> port after frames from these addresses at these ports. Port 2 may have one address."""
        control = program()
        control.control.write = written
        bridge = control.Bridge(None, None)
        bridge.settings = {"port": [{"number": 1}, {"number": 2, "addresses_max": 1}]}

        async def learn():
            for address, port in frames:
                await bridge.learn_one(10, address, port)

        with contextlib.redirect_stdout(io.StringIO()):
            asyncio.run(learn())
        return {address: port for (_, address), port in bridge.known.items()}

    def test_a_station_moves(self):
        self.assertEqual(self.known((5, 1), (5, 2)), {5: 2})
        self.assertEqual(self.known((5, 2), (5, 1), (6, 2)), {5: 1, 6: 2})

    def test_a_full_port_learns_nothing_new(self):
        self.assertEqual(self.known((5, 2), (6, 2)), {5: 2})

    def test_a_station_that_moves_to_a_full_port_is_forgotten(self):
        self.assertEqual(self.known((5, 2), (6, 1), (6, 2)), {5: 2})
        self.assertEqual(self.known((5, 2), (6, 1), (6, 2), (6, 1)), {5: 2, 6: 1})

    def static(self, age):
        """Static addresses after a start with a switch that has an address without a time."""
        source = {"vid": 10, "src_addr": 5}
        known = types.SimpleNamespace(args={"port": 1})

        class Switch:
            async def read(self, _):
                yield types.SimpleNamespace(match=source, action=known, idle_timeout_ns=0)

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bridge.toml"
            path.write_text(f"age = {age}\n[[port]]\nnumber = 1\nuntagged = 10\n")
            bridge = program().Bridge(Switch(), path)
            bridge.entries.take_over = written
            asyncio.run(bridge.take_over())
        self.assertEqual(bridge.known, {(10, 5): 1})
        return bridge.static

    def test_addresses_that_never_age_are_static_only_if_learnt_ones_do(self):
        self.assertEqual(self.static(300), {(10, 5): 1})
        self.assertEqual(self.static(0), {})

    def test_static_addresses_are_not_forgotten(self):
        control = program()
        control.control.write = written
        bridge = control.Bridge(None, None)
        bridge.known, bridge.static = {(10, 5): 1, (10, 6): 1}, {(10, 5): 1}

        async def forget():
            for address in (5, 6):
                await bridge.forget(10, address)

        with contextlib.redirect_stdout(io.StringIO()):
            asyncio.run(forget())
        self.assertEqual(bridge.known, {(10, 5): 1})

    def test_what_is_behind_a_link_that_goes_down_is_forgotten(self):
        control = program()
        deleted = []

        async def write(_, updates):
            deleted.extend(one.table_id for kind, one in updates if kind == control.control.DELETE)

        control.control.write = write
        port = types.SimpleNamespace(id=1, up=True)
        bridge = control.Bridge(types.SimpleNamespace(ports=[port, types.SimpleNamespace(id=2, up=True)]), None)
        bridge.known = {(10, 5): 1, (10, 6): 2, (20, 7): 1, (20, 8): 1}
        bridge.static = {(20, 8): 1}

        async def run():
            follow = asyncio.create_task(bridge.follow_links())
            await asyncio.sleep(3 * control.control.LINK_SECONDS)
            self.assertEqual(len(bridge.known), 4)
            port.up = False
            async with asyncio.timeout(10):
                while len(bridge.known) == 4:
                    await asyncio.sleep(0.01)
            follow.cancel()

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            asyncio.run(run())
        self.assertEqual(bridge.known, {(10, 6): 2, (20, 8): 1})
        self.assertEqual(sorted(deleted), ["destinations"] * 2 + ["source_addresses"] * 2)
        self.assertEqual(said.getvalue(), "port 1 is down: 2 addresses are forgotten\n")

    def test_what_is_known_gets_the_age_of_the_file(self):
        control = program()
        bridge = control.Bridge(None, None)
        given = []

        async def apply(_, *, also):
            given.append([(one.match["hdr.ethernet.src_addr"], one.idle_timeout_ns) for kind, one in also])

        bridge.entries.apply = apply
        bridge.known = {(10, 5): 1, (10, 6): 1}
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            bridge.path = pathlib.Path(folder) / "bridge.toml"
            for age in (300, 300, 0.5):
                bridge.path.write_text(f"age = {age}\n[[port]]\nnumber = 1\nuntagged = 10\n")
                asyncio.run(bridge.load())
        self.assertEqual(given, [[(5, 300 * 10**9), (6, 300 * 10**9)], [], [(5, 5 * 10**8), (6, 5 * 10**8)]])

    def test_only_forwarding_ports_send(self):
        control = program()
        states = enumerate(("forwarding", "learning", "blocked"), 1)
        settings = {"port": [{"number": number, "untagged": 10, "state": state} for number, state in states]}
        tables = collections.Counter(one.table_id for one in control.port_entries(settings))
        self.assertEqual(tables, {"ports": 3, "members": 3, "egress_members": 1})
        # What a learning port has learnt stays when it begins to forward, and while the file is read again.
        bridge = control.Bridge(None, None)
        bridge.known = {(10, 5): 1, (10, 6): 2, (10, 7): 3}
        self.assertEqual(bridge.lost(control.ports_in(settings, "learning", "forwarding"), {}), [(10, 7)])


if __name__ == "__main__":
    if has_finsy():
        unittest.main()
