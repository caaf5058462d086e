#!/usr/bin/env python3
"""Which answers of back ends behind NAT are still translated when the file changes. Needs finsy."""

import importlib.util
import ipaddress
import pathlib
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE))
from bed import has_finsy


class Returns(unittest.TestCase):
    def kept(self, *services, mode="nat", address="10.1.0.11"):
        """What is kept of the answers of 10.1.0.11 for 198.51.100.1 port 80. `services`: address and back ends of each."""
        match = {"src_addr": ipaddress.ip_address("10.1.0.11"), "protocol": 6, "source_port": 8080}
        args = {"src_addr": program.mapped("198.51.100.1"), "src_port": 80}
        there = types.SimpleNamespace(match=match, action=types.SimpleNamespace(args=args))
        balancer = program.LoadBalancer(None, None, 7, 300)
        balancer.entries.present = lambda table: [there] if table == "returns_ipv4" else []
        backend = {"number": 1, "mode": mode, "address": address, "port": 8080, "next_hop": 1}
        settings = {
            "backend": [backend],
            "service": [{"address": one, "protocol": "tcp", "port": 80, "backends": who} for one, who in services],
        }
        return [(one.match["hdr.ipv4.src_addr"], dict(one.action.args)) for one in balancer.kept_returns(settings)]

    def test_while_the_file_has_back_end_and_service(self):
        args = {"src_addr": program.mapped("198.51.100.1"), "src_port": 80}
        kept = [(int(ipaddress.ip_address("10.1.0.11")), args)]
        self.assertEqual(self.kept(("198.51.100.1", [])), kept)
        self.assertEqual(self.kept(("198.51.100.2", [])), [])
        self.assertEqual(self.kept(("198.51.100.1", []), address="10.1.0.12"), [])
        self.assertEqual(self.kept(("198.51.100.1", []), mode="mac"), [])

    def test_not_when_the_back_end_answers_for_a_service(self):
        self.assertEqual(self.kept(("198.51.100.1", [1])), [])
        self.assertEqual(self.kept(("198.51.100.1", []), ("198.51.100.2", [1])), [])


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    spec = importlib.util.spec_from_file_location("load_balancer_control", HERE / "control.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    unittest.main()
