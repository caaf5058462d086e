#!/usr/bin/env python3
"""Which routes the control program of the router makes of the kernel's, and when it asks for gateways, without a switch.
Needs finsy."""

import asyncio
import contextlib
import importlib.util
import io
import json
import pathlib
import socket
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


    def test_the_local_table_comes_first(self):
        """The kernel consults it before `main`, whatever the metrics are."""
        way = {"gateway": "10.2.0.2", "dev": "lan2", "weight": 1}
        own = {"type": "local", "table": "local", "metric": 100}
        prefixes = ("10.7.0.1", "10.8.0.1")
        found = self.actions(
            {"dst": prefixes[0], **way}, {"dst": prefixes[0], **own}, {"dst": prefixes[1], **way, "table": "default"}, {"dst": prefixes[1], **way}
        )
        self.assertEqual([found[f"{prefix}/32"] for prefix in prefixes], ["to_host", "to_next_hop"])


class Numbers(unittest.TestCase):
    def test_neighbours_that_are_gone_leave_theirs_to_others(self):
        numbers = program.Numbers()
        numbers.remember(1, "of an earlier run")
        for turn in range(1000):
            present = {("lan2", f"2001:db8::{turn + offset:x}") for offset in range(3)}
            given = {key: numbers.of(key, key) for key in sorted(present)}
            self.assertEqual(len(set(given.values()) | {1}), 4)
            numbers.forget_others(present)
        self.assertEqual(len(numbers.given), 3)
        self.assertLess(max(given.values()), 10)


class Rules(unittest.TestCase):
    def found(self, *rules, code=0):
        done = types.SimpleNamespace(stdout=json.dumps(rules), returncode=code)
        with unittest.mock.patch.object(program.subprocess, "run", return_value=done):
            return sorted(set(program.rules()))

    def test_those_of_every_kernel_are_followed(self):
        tables = ((0, "local"), (32766, "main"), (32767, "default"))
        self.assertEqual(self.found(*({"priority": at, "src": "all", "table": name} for at, name in tables)), [])
        self.assertEqual(self.found(code=2), [])

    def test_others_are_reported(self):
        by_source = {"priority": 100, "src": "10.1.0.0", "srclen": 24, "table": "100"}
        by_vrf = {"priority": 1000, "src": "all", "l3mdev": None}
        self.assertEqual(
            self.found(by_source, by_vrf),
            ["priority 100 src 10.1.0.0 srclen 24 table 100", "priority 1000 src all l3mdev"],
        )


class Changes(unittest.TestCase):
    def router(self, text=""):
        """A router whose copies are counted, and the other end of its notifications."""
        settings = program.checked({"interface": []})
        router = program.Router(None, pathlib.Path(text), settings)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.addCleanup(theirs.close)
        return router, ours, theirs

    def follow(self, router, ours, copy):
        async def run():
            router.copy = copy
            async with asyncio.timeout(10):
                await router.follow()

        with unittest.mock.patch.object(program, "notifications", return_value=ours), self.assertRaises(Enough):
            asyncio.run(run())

    def test_one_while_the_first_copy_is_made_is_not_lost(self):
        router, ours, theirs = self.router()
        copies = []

        async def copy():
            copies.append(0)
            if len(copies) == 2:
                raise Enough
            # The routes have been read.
            theirs.send(b"a route has changed")

        self.follow(router, ours, copy)
        self.assertEqual(len(copies), 2)

    def test_a_file_that_is_wrong_changes_nothing(self):
        router, ours, _ = self.router("/no/such/file")
        copies = []

        async def copy():
            copies.append(0)
            if len(copies) == 2:
                raise Enough
            router.tell_to_read()

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.follow(router, ours, copy)
        self.assertIn("nothing is changed: /no/such/file", said.getvalue())


class Links(unittest.TestCase):
    def test_a_tap_device_has_the_carrier_of_its_wire(self):
        """At first it gets it in any case: an earlier run may have left it without."""
        interfaces = [{"name": f"lan{port}", "port": port, "host_port": 100 + port} for port in (1, 2, 3)]

        async def links(_):
            for is_up in ({1: True, 2: False}, {1: True, 2: False, 9: True}, {1: False, 2: True}):
                yield is_up

        async def run():
            await program.Router(None, None, program.checked({"interface": interfaces})).follow_links()

        said = io.StringIO()
        with (
            unittest.mock.patch.object(program.control, "links", links),
            unittest.mock.patch.object(program.subprocess, "run") as called,
            contextlib.redirect_stdout(said),
        ):
            asyncio.run(run())
        set_to = [(words[3], words[5]) for words in (call.args[0] for call in called.call_args_list)]
        self.assertEqual(set_to, [("lan1", "on"), ("lan2", "off"), ("lan1", "off"), ("lan2", "on")])
        self.assertEqual(said.getvalue().splitlines(), ["lan2 is down", "lan1 is down", "lan2 is up"])


class Enough(Exception):
    """Ends a program that would go on for ever."""


class Gateways(unittest.TestCase):
    def test_those_that_do_not_answer_are_asked_for_again(self):
        asked = []

        async def run():
            router = program.Router(None, None, program.checked({"interface": []}))
            router.asked = {("lan2", "10.2.0.3"): 0}

            def look_for(gateways):
                asked.append(gateways)
                # Nothing happens until gateways have been asked for twice.
                if len(asked) == 2:
                    router.wake.set()

            router.look_for = look_for
            async with asyncio.timeout(10):
                await router.has_changed()

        with unittest.mock.patch.object(program, "ASK_SECONDS", 0.05):
            asyncio.run(run())
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
