#!/usr/bin/env python3
"""What the control program does with downlink packets that come while a UE becomes active. Needs finsy."""

import asyncio
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE))
from bed import has_finsy

TEXT = (HERE / "upf.toml").read_text()


class Entries:
    """Takes the time of a switch to write."""

    async def apply(self, entries, also=()):
        await asyncio.sleep(0.01)
        return "written"


class Switch:
    def __init__(self):
        self.sent = []

    async def write(self, messages):
        self.sent += [bytes(one.payload) for one in messages]


class Kept(unittest.TestCase):
    def test_packets_on_their_way_go_on(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(asyncio.run(self.sent(pathlib.Path(folder) / "upf.toml")), [b"before", b"during", b"after"])

    async def sent(self, path):
        upf = control.Upf(Switch(), path)
        upf.entries = Entries()
        for state in ("idle", "active"):
            path.write_text(TEXT.replace('state = "active"', f'state = "{state}"'))
            load = asyncio.create_task(upf.load())
            await asyncio.sleep(0)
            if state == "active":
                await upf.keep(1, 2, b"during")
            await load
            if state == "idle":
                await upf.keep(1, 2, b"before")
                self.assertEqual(upf.switch.sent, [])
        await upf.keep(1, 2, b"after")
        return upf.switch.sent


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    import importlib.util

    spec = importlib.util.spec_from_file_location("upf_control", HERE / "control.py")
    control = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(control)
    unittest.main()
