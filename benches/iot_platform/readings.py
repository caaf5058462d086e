"""Readings of devices: 16 bytes, the payload of an IoT message (benches/baselines/messages.py). Nothing here does I/O.

    device 4 | feature 1 | time 3 | sequence 4 | value 4        little-endian

`device` is the number that the server gave at registration, `feature` the place of a sensor in the device's list,
`time` milliseconds modulo 2^24, `sequence` counts the readings of the sensor from 0, `value` is a float. FILLER in
place of a device is no reading: a gateway sends such messages to complete its last batch.
"""

import struct
from typing import NamedTuple

import messages

FORMAT = struct.Struct("<IB3sIf")
FILLER = 0xFFFFFFFF
TIME_MODULUS = 1 << 24


class Reading(NamedTuple):
    device: int
    feature: int
    time_ms: int
    sequence: int
    value: float


def encoded(reading):
    """16 bytes."""
    time = (reading.time_ms % TIME_MODULUS).to_bytes(3, "little")
    return FORMAT.pack(reading.device, reading.feature, time, reading.sequence, reading.value)


def decoded(payload):
    """A reading of 16 bytes; None when there are more or fewer."""
    if len(payload) != FORMAT.size:
        return None
    device, feature, time, sequence, value = FORMAT.unpack(payload)
    return Reading(device, feature, int.from_bytes(time, "little"), sequence, value)


def age_ms(reading, now_ms):
    """How old a reading is, by clocks that agree; up to four hours."""
    return (now_ms - reading.time_ms) % TIME_MODULUS


def payloads_of(body):
    """The payloads of a datagram: a message has one, an N-packet several; None when it is neither.

    A body is what follows the UDP header.
    """
    kind, rest = body[:1], len(body) - messages.FLAG_BYTES
    if rest < messages.PAYLOAD_BYTES or rest % messages.PAYLOAD_BYTES:
        return None
    if kind == messages.N_PACKET[:1] or (kind == messages.MESSAGE[:1] and rest == messages.PAYLOAD_BYTES):
        return [message[messages.FLAG_BYTES :] for message in messages.split(body)]
    return None
