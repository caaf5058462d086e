#!/usr/bin/env python3
"""Control programs send to the stream of their switch one message after another, and wait for calls. Needs finsy."""

import asyncio
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bed import has_finsy


class Stream(unittest.TestCase):
    def test_messages_of_several_tasks(self):
        """gRPC ends a stream to which two tasks write at the same time."""
        sent, writing = [], []

        async def send(message):
            self.assertFalse(writing)
            writing.append(message)
            await asyncio.sleep(0)
            writing.clear()
            sent.append(message)

        client = types.SimpleNamespace(send=send)

        async def run():
            control.send_in_turn(client)
            await asyncio.gather(*(client.send(number) for number in range(10)))

        asyncio.run(run())
        self.assertEqual(sent, list(range(10)))


class Calls(unittest.TestCase):
    def test_a_large_table_may_take_longer_than_finsy_gives(self):
        given = []

        async def write(_, timeout):
            given.append(timeout)

        client = object.__new__(control.finsy.p4client.P4Client)
        client._stub, client._complete_request = types.SimpleNamespace(Write=write), None
        client._log_msg = lambda _: None
        asyncio.run(client.request(control.p4r.WriteRequest()))
        self.assertEqual(given, [control.CALL_SECONDS])


if __name__ == "__main__":
    if not has_finsy():
        sys.exit(0)
    import control

    unittest.main()
