"""The part of MQTT 3.1.1 for a sensor, a bridge and a subscriber: connect, publish with QoS 1, subscribe. Nothing here
does I/O."""

import struct

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK = 1, 2, 3, 4, 8, 9
QOS_1, QOS_2, DUP = 0x02, 0x04, 0x08


def connect(client_id, clean=True):
    """CONNECT without keep-alive, with a clean session or one that the broker keeps."""
    return _packet(CONNECT, 0, _text("MQTT") + struct.pack("!BBH", 4, 0x02 if clean else 0, 0) + _text(client_id))


def publish(topic, payload, identifier, again=False):
    """PUBLISH with QoS 1, for the first time or again."""
    return _packet(PUBLISH, QOS_1 | (DUP if again else 0), _text(topic) + struct.pack("!H", identifier) + payload)


def puback(identifier):
    return _packet(PUBACK, 0, struct.pack("!H", identifier))


def subscribe(topic, identifier):
    """SUBSCRIBE with QoS 1."""
    return _packet(SUBSCRIBE, 0x02, struct.pack("!H", identifier) + _text(topic) + b"\x01")


def message_of(flags, body):
    """Topic, identifier and payload of a PUBLISH. With QoS 0, as its sender has chosen, it has no identifier."""
    end = 2 + int.from_bytes(body[:2], "big")
    topic = body[2:end].decode()
    if not flags & (QOS_1 | QOS_2):
        return topic, None, body[end:]
    return topic, int.from_bytes(body[end : end + 2], "big"), body[end + 2 :]


class Decoder:
    """Packets out of a stream of bytes."""

    def __init__(self):
        self.buffer = bytearray()

    def feed(self, data):
        """Takes bytes; yields the type, the flags and the body of each packet that is complete."""
        self.buffer += data
        at = 0
        while (packet := self._packet_at(at)) is not None:
            begin, end = packet
            yield self.buffer[at] >> 4, self.buffer[at] & 0x0F, bytes(self.buffer[begin:end])
            at = end
        del self.buffer[:at]

    def _packet_at(self, at):
        """Where the body of the packet at `at` begins and ends, or None when bytes are missing."""
        length, shift, begin = 0, 0, at + 1
        while begin < len(self.buffer):
            byte = self.buffer[begin]
            length |= (byte & 0x7F) << shift
            shift, begin = shift + 7, begin + 1
            if byte < 0x80:
                return (begin, begin + length) if begin + length <= len(self.buffer) else None
        return None


def _packet(kind, flags, body):
    length, head = len(body), bytearray([kind << 4 | flags])
    while True:
        length, byte = length >> 7, length & 0x7F
        head.append(byte | 0x80 if length else byte)
        if not length:
            return bytes(head) + body


def _text(text):
    return struct.pack("!H", len(text.encode())) + text.encode()
