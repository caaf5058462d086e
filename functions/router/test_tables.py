#!/usr/bin/env python3
"""Which routes the control program of the router makes of the kernel's, and when it asks for gateways, without a switch.
Needs finsy."""

import asyncio
import importlib.util
import pathlib
import subprocess
import sys
import types
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import has_finsy


class Routes(unittest.TestCase):
    def actions(self, *routes):
        """Prefix -> action, with a gateway 10.2.0.2 at lan2 that is known. `routes` are as `ip -j route` prints them."""
        kernel = object.__new__(program.Kernel)
        kernel.interfaces = {"lan2": {"port": 2, "host_port": 102}}
        kernel.macs, kernel.mtus = {"lan2": "02:00:00:00:02:01"}, {"lan2": 1500}
        kernel.neighbours = {("lan2", "10.2.0.2"): "02:00:00:00:02:02"}
        kernel.routes = [{"dst": "10.2.0.0/24", "dev": "lan2"}, *routes]
        numbers = {"next_hop": program.Numbers(), "group": program.Numbers(), "host": {}}
        entries = program.Tables(kernel, 64, numbers).entries
        routes = [one for one in entries if one.table_id == "routes_ipv4"]
        return {one.match["hdr.ipv4.dst_addr"]: one.action.name for one in routes}

    def test_kinds(self):
        kinds = {
            "blackhole": "discard",
            **dict.fromkeys(("local", "broadcast", "unreachable", "prohibit", "throw"), "to_host"),
        }
        routes = [{"dst": f"10.{number}.0.0/16", "type": kind} for number, kind in enumerate(kinds, 10)]
        found = self.actions(*routes)
        self.assertEqual([found[route["dst"]] for route in routes], list(kinds.values()))

    def test_mtus(self):
        way = {"gateway": "10.2.0.2", "dev": "lan2", "weight": 1}
        own, interface = [{"mtu": 1000}], [{"lock": True, "mtu": 1500}, {"hoplimit": 9}]
        found = self.actions(
            {"dst": "10.7.0.0/16", **way, "metrics": own},
            {"dst": "10.8.0.0/16", **way, "metrics": interface},
            {"dst": "10.9.0.0/16", "nexthops": [way, way], "metrics": own},
        )
        self.assertEqual([found[f"10.{number}.0.0/16"] for number in (7, 8, 9)], ["to_host", "to_next_hop", "to_host"])


class Gateways(unittest.TestCase):
    def test_those_that_do_not_answer_are_asked_for_again(self):
        router = object.__new__(program.Router)
        router.asked = {("lan2", "10.2.0.3"): 0}
        asked = []
        router.look_for = asked.append

        async def readline():
            """Nothing happens until gateways have been asked for twice."""
            while len(asked) < 2:
                await asyncio.sleep(0.01)
            return b"a change"

        monitor = types.SimpleNamespace(stdout=types.SimpleNamespace(readline=readline))
        with unittest.mock.patch.object(program, "ASK_SECONDS", 0.05):
            has_changed = asyncio.run(asyncio.wait_for(router.has_changed(monitor), 10))
        self.assertTrue(has_changed)
        self.assertEqual(asked, [{("lan2", "10.2.0.3")}] * 2)


class Commands(unittest.TestCase):
    def test_the_exception_has_what_a_command_says(self):
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            program.run("sh", "-c", "echo no such interface >&2; exit 1")
        self.assertEqual(caught.exception.stderr, "no such interface\n")


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    spec = importlib.util.spec_from_file_location("router_control", HERE / "control.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    unittest.main()
