#!/usr/bin/env python3
"""What messages.py makes of datagrams: messages alone and gathered, and datagrams that are cut or of another form."""

import struct
import unittest

from messages import MAPPING_BYTES, MESSAGE, N_PACKET, described

SIZE = 48
FLAGS = bytes(5)
PART = struct.pack("!BBH4sHHI", 1, 2, 3, bytes([10, 0, 0, 7]), 4000, 0, 9) + b"hi"
WHOLE = PART.ljust(SIZE, b"\0")


def said(datagram):
    return described(datagram, SIZE, {9: "sensors/7"})


class Messages(unittest.TestCase):
    def test_a_message(self):
        one = {"protocol": "mqtt", "device": "10.0.0.7", "port": 4000, "sequence": 3, "topic": "sensors/7", "payload": "hi"}
        self.assertEqual(said(bytes([MESSAGE]) + FLAGS + WHOLE), [one | {"gathered": False}])
        self.assertEqual(said(bytes([N_PACKET]) + FLAGS + 2 * WHOLE), 2 * [one | {"gathered": True}])

    def test_shorter_than_the_header(self):
        for length in range(MAPPING_BYTES):
            cut = PART[:length]
            self.assertEqual(said(bytes([MESSAGE]) + FLAGS + cut), [{"malformed": cut.hex()}])
        gathered = said(bytes([N_PACKET]) + FLAGS + WHOLE + b"cut")
        self.assertEqual([one.get("payload", one) for one in gathered], ["hi", {"malformed": b"cut".hex()}])

    def test_of_another_form(self):
        for datagram in (b"", b"\x00", b"other", bytes([N_PACKET])):
            self.assertEqual(said(datagram), [{"malformed": datagram.hex()}])


if __name__ == "__main__":
    unittest.main()
