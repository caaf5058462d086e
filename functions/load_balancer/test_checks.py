#!/usr/bin/env python3
"""The requests of health checks. Needs finsy."""

import importlib.util
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE))
from bed import has_finsy


class Requests(unittest.TestCase):
    def test_the_host_is_that_of_the_url(self):
        for address, host in (("10.1.0.11", b"10.1.0.11:8080"), ("2001:db8::11", b"[2001:db8::11]:8080")):
            request = program.request_of({"address": address, "port": 8080, "path": "/health?full=1"})
            self.assertEqual(request, b"GET /health?full=1 HTTP/1.0\r\nHost: " + host + b"\r\n\r\n")


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    spec = importlib.util.spec_from_file_location("load_balancer_control", HERE / "control.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    unittest.main()
