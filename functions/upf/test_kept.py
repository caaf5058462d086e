#!/usr/bin/env python3
"""What the control program does with downlink packets that come while a UE becomes active, and with answers to echo
requests. Needs finsy."""

import asyncio
import contextlib
import io
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


    def test_those_of_a_session_that_is_gone_are_not_those_of_the_next_one(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(asyncio.run(self.sent_of_next(pathlib.Path(folder) / "upf.toml")), [])

    async def sent_of_next(self, path):
        upf = control.Upf(Switch(), path)
        upf.entries = Entries()
        idle = TEXT.replace('state = "active"', 'state = "idle"')
        path.write_text(idle)
        await upf.load()
        await upf.keep(1, 2, b"of the first")
        path.write_text(TEXT[: TEXT.index("[[session]]")])
        await upf.load()
        await upf.keep(1, 2, b"late")
        self.assertFalse(upf.buffers)
        for text in (idle, TEXT):
            path.write_text(text)
            await upf.load()
        return upf.switch.sent


class Paths(unittest.TestCase):
    def test_a_path_is_up_again_only_if_it_was_down(self):
        for unanswered, said in ((1, ""), (3, ""), (4, "192.168.3.2: path is up\n")):
            upf = control.Upf(None, None)
            upf.unanswered["192.168.3.2"] = unanswered
            header = bytes([0x45]) + bytes(11) + bytes([192, 168, 3, 2, 192, 168, 3, 1])
            response = bytes(12) + b"\x08\x00" + header + bytes(8) + bytes([0x32, control.ECHO_RESPONSE])
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                upf.message(response, 0)
            self.assertEqual((output.getvalue(), upf.unanswered), (said, {}))


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    import importlib.util

    spec = importlib.util.spec_from_file_location("upf_control", HERE / "control.py")
    control = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(control)
    unittest.main()
