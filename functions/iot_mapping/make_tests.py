#!/usr/bin/env python3
"""Writes the STF tests of iot_mapping.p4. Packets are made by scapy, messages from the formats of the README.

    make_tests.py [--check]

Needs scapy from PyPI.
"""

import ipaddress
import pathlib
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import with_scapy  # noqa: F401
from scapy.layers.inet import IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from stf import Test, write

DEVICE_PORT, SERVER_PORT, COLLECTOR_PORT = 1, 2, 3
DEVICE, OTHER_DEVICE, SERVER, MAPPER, COLLECTOR = "10.0.0.7", "10.0.0.8", "10.0.0.1", "10.9.0.1", "10.9.0.2"
S = 54
DATA_BYTES = S - 22
MQTT, COAP, HTTP = 1, 2, 3
OUTCOMES = (
    "mapped no_payload too_long segmented continuation retransmission gap unknown_flow unknown_version properties no_length malformed "
    "pipelined opened copied encrypted passes no_target forwarded not_forwarded"
).split()  # fmt: skip

TO_SERVER = Ether(src="02:00:00:00:00:07", dst="02:00:00:00:00:01")
SETUP = [
    f"add wire standard_metadata.ingress_port:{DEVICE_PORT} to_port(port:{SERVER_PORT})",
    f"add wire standard_metadata.ingress_port:{SERVER_PORT} to_port(port:{DEVICE_PORT})",
    "mirroring_add 9 500",
    *[
        f"add targets meta.kind:{kind} set_target(port:{COLLECTOR_PORT}, source_mac:0x0200000000AA, mac:0x0200000000BB, "
        f"source:0x{ipaddress.ip_address(MAPPER).packed.hex()}, address:0x{ipaddress.ip_address(COLLECTOR).packed.hex()}, udp_source_port:7000)"
        for kind in (MQTT, COAP, HTTP)
    ],
]


def setup(name, about, options=""):
    test = Test(HERE / name, about, options)
    test.run(*SETUP)
    return test


def message(kind, data, sequence, device_port, topic, device=DEVICE):
    mapping = struct.pack("!BBH", kind, len(data), sequence) + ipaddress.ip_address(device).packed
    mapping += struct.pack("!HHI", device_port, 0, zlib.crc32(topic))
    payload = bytes([0xFA, 0, 0, 0, 0, 0]) + mapping + data + bytes(DATA_BYTES - len(data))
    outer = Ether(src="02:00:00:00:00:aa", dst="02:00:00:00:00:bb") / IP(
        src=MAPPER, dst=COLLECTOR, id=0, ttl=64, flags="DF"
    )
    return outer / UDP(sport=7000, dport=9000, chksum=0) / Raw(payload)


def path(text):
    """The last 32 bytes of a path, as the program keeps them."""
    return text[-32:].rjust(32, b"\0")


class Connection:
    """A TCP connection from a device."""

    def __init__(self, test, service_port, device_port=40000, device=DEVICE, sequence=1000, options=()):
        self.test = test
        self.service_port = service_port
        self.device_port = device_port
        self.device = device
        self.sequence = sequence
        self.options = list(options)
        self.messages = 0

    def segment(self, data, sequence=None, flags="PA"):
        at = self.sequence if sequence is None else sequence
        tcp = TCP(sport=self.device_port, dport=self.service_port, seq=at, ack=1, flags=flags, options=self.options)
        return TO_SERVER / IP(src=self.device, dst=SERVER) / tcp / Raw(data)

    def open(self):
        frame = self.segment(b"", flags="S")
        self.test.through(DEVICE_PORT, frame, SERVER_PORT)
        self.sequence = (self.sequence + 1) % 2**32

    def send(self, data, *payloads, again=False):
        """A segment, which is forwarded as it is, and the payloads that are mapped: (data, topic)."""
        frame = self.segment(data)
        self.test.through(DEVICE_PORT, frame, SERVER_PORT)
        for payload, topic in payloads:
            kind = MQTT if self.service_port == 1883 else HTTP
            made = message(kind, payload, self.messages, self.device_port, topic, self.device)
            self.test.expect(COLLECTOR_PORT, made)
            self.messages += 1
        if not again:
            self.sequence = (self.sequence + len(data)) % 2**32
        return frame


def varint(number):
    out = b""
    while True:
        number, low = divmod(number, 128)
        out += bytes([low | (0x80 if number else 0)])
        if not number:
            return out


def mqtt(kind, flags, body):
    return bytes([kind << 4 | flags]) + varint(len(body)) + body


def connect(level=4):
    properties = b"\0" if level == 5 else b""
    name = b"MQIsdp" if level == 3 else b"MQTT"
    return mqtt(1, 0, struct.pack("!H", len(name)) + name + bytes([level, 2, 0, 60]) + properties + b"\0\3dev")


def publish(topic, data, qos=0, retain=0, dup=0, properties=None):
    identifier = b"\0\x09" if qos else b""
    return mqtt(
        3, dup << 3 | qos << 1 | retain, struct.pack("!H", len(topic)) + topic + identifier + (properties or b"") + data
    )


def outcomes(test, **counts):
    for name, count in counts.items():
        test.counter("outcomes", OUTCOMES.index(name), count)


def mqtt_plain():
    test = setup("iot_mapping_mqtt.stf", "MQTT 3.1.1: PUBLISH with every QoS, long and short topics, other packets.")
    one = Connection(test, 1883)
    one.open()
    test.say("CONNECT.")
    one.send(connect())
    topics = [b"t", b"sensors/7/temperature", bytes(range(65, 91)) * 6]
    for topic in topics:
        for flags in ({}, {"qos": 1}, {"qos": 2}, {"retain": 1}, {"qos": 1, "dup": 1}):
            test.say(f"PUBLISH, topic of {len(topic)} bytes, {flags or 'QoS 0'}.")
            one.send(publish(topic, b"21.5", **flags), (b"21.5", topic))
    test.say("Payloads of 1 byte and as many as there is room for; one more is too long, so is a jumbo frame; none is no payload.")
    one.send(publish(b"t", b"x"), (b"x", b"t"))
    full = bytes(range(DATA_BYTES))
    one.send(publish(b"t", full), (full, b"t"))
    one.send(publish(b"t", full + b"x"))
    one.send(publish(b"t", bytes(3000)))
    one.send(publish(b"t", b""))
    one.send(publish(bytes(300), b"topic of 300 bytes"))
    test.say("SUBSCRIBE, PINGREQ, DISCONNECT; QoS 3 and a topic that is longer than its packet are malformed.")
    one.send(mqtt(8, 2, b"\0\1\0\1t\0"))
    one.send(mqtt(12, 0, b""))
    one.send(mqtt(3, 6, b"\0\1txx"))
    one.send(mqtt(3, 0, b"\0\x09t"))
    one.send(publish(b"t", b"still there"), (b"still there", b"t"))
    one.send(mqtt(14, 0, b""))
    outcomes(test, mapped=18, no_payload=5, too_long=3, malformed=2, opened=1, copied=28)
    test.say("TCP and IPv4 options, another device, sequence numbers that wrap.")
    two = Connection(test, 1883, 40001, OTHER_DEVICE, 2**32 - 20, [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))])
    two.open()
    two.send(connect())
    for value in (b"1", b"2", b"3"):
        two.send(publish(b"a/b", value), (value, b"a/b"))
    with_options = IP(src=DEVICE, dst=SERVER, options=[IPOption_NOP()] * 4)
    frame = (
        TO_SERVER / with_options / TCP(sport=40000, dport=1883, seq=one.sequence, flags="PA") / Raw(publish(b"t", b"y"))
    )
    test.through(DEVICE_PORT, frame, SERVER_PORT)
    test.expect(COLLECTOR_PORT, message(MQTT, b"y", one.messages, 40000, b"t"))
    return test


def mqtt_versions():
    test = setup(
        "iot_mapping_mqtt_versions.stf",
        "MQTT 5 without and with properties, MQTT 3.1, connections whose beginning was not seen.",
    )
    five = Connection(test, 1883, 40005)
    five.open()
    five.send(connect(5))
    five.send(publish(b"t", b"data", properties=b"\0"), (b"data", b"t"))
    five.send(publish(b"t", b"data", qos=1, properties=b"\0"), (b"data", b"t"))
    full = bytes(range(DATA_BYTES))
    five.send(publish(b"t", full, properties=b"\0"), (full, b"t"))
    five.send(publish(b"t", b"data", properties=b"\x02\x01\x01"))
    five.send(publish(b"t", b"", properties=b"\0"))
    outcomes(test, mapped=3, properties=1, no_payload=2)
    test.say("A protocol name that is not MQTT: 3.1 of before the standard.")
    old = Connection(test, 1883, 40003)
    old.open()
    old.send(connect(3))
    old.send(publish(b"t", b"data"))
    outcomes(test, unknown_version=1)
    test.say("PUBLISH without CONNECT, and a connection without SYN.")
    early = Connection(test, 1883, 40006)
    early.open()
    early.send(publish(b"t", b"data"))
    unseen = Connection(test, 1883, 40007)
    unseen.send(connect())
    unseen.send(publish(b"t", b"data"))
    outcomes(test, unknown_version=2, unknown_flow=2)
    return test


def mqtt_segments():
    test = setup(
        "iot_mapping_mqtt_segments.stf",
        "Several packets in a segment, packets over several segments, retransmissions, gaps.",
    )
    one = Connection(test, 1883)
    one.open()
    test.say("CONNECT and three PUBLISH in one segment.")
    values = [b"1", b"22", b"333"]
    one.send(connect() + b"".join(publish(b"t", value) for value in values), *[(value, b"t") for value in values])
    test.say("The same again: a retransmission.")
    again = publish(b"t", b"4") + mqtt(12, 0, b"") + publish(b"u", b"5")
    one.send(again, (b"4", b"t"), (b"5", b"u"))
    one.sequence -= len(again)
    one.send(again)
    outcomes(test, retransmission=1, mapped=5)
    test.say("A PUBLISH over three segments is not mapped; the one that begins after it is.")
    long_packet = publish(b"t", bytes(2500))
    one.send(long_packet[:1000])
    one.send(long_packet[1000:2000])
    one.send(long_packet[2000:])
    outcomes(test, segmented=1, continuation=2)
    one.send(publish(b"t", b"6"), (b"6", b"t"))
    test.say("A segment is lost: what follows waits for it, and is not mapped when it comes before.")
    first, second = publish(b"t", b"7"), publish(b"t", b"8")
    one.sequence += len(first)
    one.send(second)
    outcomes(test, gap=1)
    one.sequence -= len(first) + len(second)
    one.send(first, (b"7", b"t"))
    one.send(second, (b"8", b"t"))
    test.say("Retransmissions that go on: one and two known packets before a new one; a packet that begins anywhere.")
    known = publish(b"t", b"1"), publish(b"t", b"2")
    for repeated in (known[:1], known):
        for packet in repeated:
            one.send(packet, (packet[-1:], b"t"))
        one.sequence -= sum(map(len, repeated))
        one.send(b"".join(repeated) + publish(b"t", b"new"), (b"new", b"t"))
    one.send(publish(b"t", b"8"), (b"8", b"t"))
    test.say("A segment with a wrong checksum is forwarded, and not mapped; the right one after it is.")
    wrong = bytearray(bytes(one.segment(publish(b"t", b"right"))))
    wrong[-1] ^= 1
    test.through(DEVICE_PORT, bytes(wrong), SERVER_PORT)
    outcomes(test, malformed=1)
    one.send(publish(b"t", b"right"), (b"right", b"t"))
    test.say("Two in a segment with options of TCP, and of IPv4 and TCP; a wrong byte in an option is a wrong checksum.")
    stamped = Connection(test, 1883, 44001, options=[("NOP", None), ("NOP", None), ("Timestamp", (1, 2))])
    stamped.open()
    stamped.send(connect() + publish(b"t", b"1") + publish(b"t", b"2"), (b"1", b"t"), (b"2", b"t"))
    both = stamped.segment(publish(b"t", b"3") + publish(b"t", b"4"))
    both[IP].options = [IPOption_NOP()] * 4
    test.through(DEVICE_PORT, both, SERVER_PORT)
    for value, number in ((b"3", 2), (b"4", 3)):
        test.expect(COLLECTOR_PORT, message(MQTT, value, number, 44001, b"t"))
    outcomes(test, malformed=1)
    stamped.sequence += 10
    wrong = bytearray(bytes(stamped.segment(publish(b"t", b"5"))))
    wrong[14 + 20 + 20 + 4] ^= 1
    test.through(DEVICE_PORT, bytes(wrong), SERVER_PORT)
    outcomes(test, malformed=2)
    test.say("32 packets in a segment; the 33rd is not mapped.")
    many = Connection(test, 1883, 44000)
    many.open()
    many.send(connect())
    values = [b"%d" % number for number in range(33)]
    many.send(b"".join(publish(b"t", value) for value in values), *[(value, b"t") for value in values[:32]])
    outcomes(test, passes=1)
    test.say("Only the beginning of a length: the rest of the connection is not mapped.")
    one.send(long_packet[:1])
    one.send(long_packet[1:])
    one.send(publish(b"t", b"9"))
    outcomes(test, segmented=2, unknown_flow=2)
    test.say("A new connection with the same ports begins anew.")
    other = Connection(test, 1883, sequence=500_000)
    other.open()
    other.send(connect())
    other.send(publish(b"t", b"x"), (b"x", b"t"))
    test.say("What came before a late segment is not repeated: the rest of the connection is a gap.")
    late = Connection(test, 1883, 44002)
    late.open()
    late.send(connect())
    late.sequence += len(first)
    late.send(second)
    late.sequence -= len(first) + len(second)
    late.send(first, (b"7", b"t"))
    late.sequence += len(second)
    late.send(publish(b"t", b"9"))
    outcomes(test, gap=3)
    test.say("A length of more than four bytes is malformed.")
    other.send(b"\x30\xff\xff\xff\xff\x01" + bytes(20))
    other.send(publish(b"t", b"y"))
    outcomes(test, malformed=3, unknown_flow=3)
    return test


def coap(code, options=b"", payload=None, token=b"", kind=0, identifier=1):
    head = struct.pack("!BBH", 1 << 6 | kind << 4 | len(token), code, identifier)
    return head + token + options + (b"\xff" + payload if payload is not None else b"")


def option(delta, value):
    def part(number):
        if number < 13:
            return number, b""
        if number < 269:
            return 13, bytes([number - 13])
        return 14, struct.pack("!H", number - 269)

    high, high_bytes = part(delta)
    low, low_bytes = part(len(value))
    return bytes([high << 4 | low]) + high_bytes + low_bytes + value


def coap_requests():
    test = setup("iot_mapping_coap.stf", "CoAP: POST and PUT with options of every length, others, blocks, duplicates.")
    state = {"sequence": 0, "identifier": 0}

    def send(data, topic=None, payload=None):
        frame = TO_SERVER / IP(src=DEVICE, dst=SERVER) / UDP(sport=50000, dport=5683) / Raw(data)
        test.through(DEVICE_PORT, frame, SERVER_PORT)
        if payload is not None:
            test.expect(COLLECTOR_PORT, message(COAP, payload, state["sequence"], 50000, path(topic)))
            state["sequence"] += 1

    def request(*arguments, **fields):
        state["identifier"] += 1
        return coap(*arguments, identifier=state["identifier"], **fields)

    uri = option(11, b"sensors") + option(0, b"7")
    test.say("POST and PUT, confirmable or not, with and without a token, paths, other options.")
    send(request(2, payload=b"21.5"), b"", b"21.5")
    send(request(3, uri, b"21.5", token=b"12345678"), b"/sensors/7", b"21.5")
    send(request(2, uri, b"x", kind=1, token=b"1"), b"/sensors/7", b"x")
    send(request(2, option(3, b"host.example") + option(8, b"t") + option(1, b"\x32"), b"y"), b"/t", b"y")
    send(
        request(3, option(11, b"t") + option(1, b"") + option(3, bytes(20)) + option(45, bytes(300)), b"z"), b"/t", b"z"
    )
    send(
        request(3, option(11, bytes(range(97, 123)) * 2) + option(2000, b"k"), b"w"),
        b"/" + bytes(range(97, 123)) * 2,
        b"w",
    )
    full = bytes(range(DATA_BYTES))
    send(request(2, uri, full), b"/sensors/7", full)
    outcomes(test, mapped=7)
    test.say("Too long; GET, DELETE, an empty message, a response, POST without a payload: none.")
    send(request(2, uri, full + b"x"))
    for data in (
        request(1, uri),
        request(4, uri),
        request(0),
        request(69, payload=b"x"),
        request(2, uri),
        request(2, kind=2),
    ):
        send(data)
    outcomes(test, too_long=1, no_payload=6)
    test.say("A block of a larger payload.")
    send(request(3, uri + option(16, b"\x08"), b"part"))
    outcomes(test, segmented=1)
    test.say("The same message identifier: a retransmission.")
    data = request(3, uri, b"once")
    send(data, b"/sensors/7", b"once")
    send(data)
    outcomes(test, retransmission=1)
    test.say("Also when the device has acknowledged a message of the server between.")
    send(coap(0, kind=2, identifier=900))
    send(data)
    outcomes(test, retransmission=2, no_payload=7)
    test.say(
        "Malformed: version 0, a token of 9 bytes, options beyond the end, reserved deltas and lengths, a marker without payload, 3 bytes,"
        "\na value of more than 65,266 bytes, numbers of options beyond 16 bits."
    )
    bad = [
        b"\x00" + request(2, uri, b"x")[1:],
        b"\x49" + request(2, uri, b"x" * 20)[1:],
        request(2, b"\xb7abc"),
        request(2, b"\xf1a"),
        request(2, b"\x1fa"),
        request(2, b"\xd1"),
        request(2, uri, b""),
        b"\x40\x02\x00",
        request(2, b"\xbe\xff\xff" + bytes(12), b"x" * 300),
        request(2, b"\xe1\xff\xffa" + uri, b"x"),
        request(2, option(60000, b"") + b"\xe1" + struct.pack("!H", 65536 + 11 - 60000 - 269) + b"a", b"x"),
    ]
    for data in bad:
        send(data)
    outcomes(test, malformed=len(bad))
    return test


def http(method, target, body, *headers, length=True):
    lines = [f"{method} {target} HTTP/1.1", "Host: server", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def http_requests():
    test = setup(
        "iot_mapping_http.stf",
        "HTTP: POST and PUT with Content-Length in one segment; others, pipelines, bodies in later segments.",
    )
    one = Connection(test, 80)
    one.open()
    where = path(b"/sensors/7")
    test.say("POST, PUT, spellings of the field, other fields.")
    one.send(http("POST", "/sensors/7", b"21.5"), (b"21.5", where))
    one.send(http("PUT", "/sensors/7", b"x", "Content-Type: text/plain", "Cookie: a=b"), (b"x", where))
    one.send(http("POST", "/sensors/7", b"y", "content-length:1", length=False), (b"y", where))
    one.send(http("POST", "/sensors/7", b"z", "Content-Length:  1 ", "Accept: */*", length=False), (b"z", where))
    full = bytes(range(DATA_BYTES))
    target = "/" + "a" * 50
    one.send(http("POST", target, full), (full, path(target.encode())))
    one.send(http("POST", "/sensors/7?unit=C&from=/other", b"q"), (b"q", where))
    outcomes(test, mapped=6)
    test.say("Too long for a message; GET, POST without a body; a retransmission.")
    one.send(http("POST", "/sensors/7", full + b"x"))
    one.send(http("GET", "/sensors/7", b"", length=False))
    one.send(http("POST", "/sensors/7", b""))
    last = http("POST", "/sensors/7", b"once")
    one.send(last, (b"once", where))
    one.sequence -= len(last)
    one.send(last)
    outcomes(test, too_long=1, no_payload=2, retransmission=1)
    test.say("The body in the next segment, even if it looks like a request; then another request.")
    header, body = http("POST", "/sensors/7", b"later"), b"POST /x HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"
    one.send(header[:-5])
    one.send(b"later")
    whole = http("POST", "/sensors/7", body)
    one.send(whole[: -len(body)])
    one.send(body)
    one.send(http("POST", "/sensors/7", b"next"), (b"next", where))
    outcomes(test, segmented=2, continuation=2)
    test.say("Two requests in a segment.")
    one.send(http("POST", "/sensors/7", b"1") + http("POST", "/sensors/7", b"2"))
    one.send(http("POST", "/sensors/7", b"3"), (b"3", where))
    outcomes(test, pipelined=1)
    test.say("Chunks, or no length: where the next request begins is unknown.")
    one.send(http("POST", "/sensors/7", b"4\r\ndata\r\n0\r\n\r\n", "Transfer-Encoding: chunked", length=False))
    one.send(http("POST", "/sensors/7", b"4"))
    outcomes(test, no_length=1, unknown_flow=1)
    test.say("Also with a length beside the chunks, in capitals; two lengths; lengths that are none.")
    for number, fields in enumerate(
        (
            ["TRANSFER-ENCODING: chunked", "Content-Length: 4"],
            ["Content-Length: 4", "transfer-encoding:chunked"],
            ["Content-Length: 4", "CONTENT-LENGTH: 4"],
            ["Content-Length: 4, 4"],
            ["Content-Length: 4 4"],
            ["Content-Length: 0x4"],
            ["Content-Length: +4"],
            ["Content-Length: "],
        )
    ):
        other = Connection(test, 80, 42000 + number)
        other.open()
        other.send(http("POST", "/sensors/7", b"data", *fields, length=False))
    outcomes(test, no_length=9)
    test.say("Case and blanks do not matter; fields that begin alike are others, at the end of a header, too.")
    for number, field in enumerate(("CONTENT-LENGTH:4", "cOnTeNt-LeNgTh:\t 4 \t", "Content-Length: 0004")):
        other = Connection(test, 80, 43000 + number)
        other.open()
        other.send(http("POST", "/sensors/7", b"data", "Traceparent: 00", field, "Co: 1", length=False), (b"data", where))
        other.send(http("POST", "/sensors/7", b"d", "TE: x", field.replace("4", "1"), "Tr: 1", length=False), (b"d", where))
    test.say("So it is after a header that ends in a later segment.")
    two = Connection(test, 80, 41000)
    two.open()
    two.send(http("POST", "/sensors/7", b"5")[:40])
    two.send(http("POST", "/sensors/7", b"5"))
    outcomes(test, segmented=3, unknown_flow=2)
    return test


def others():
    test = setup(
        "iot_mapping_others.stf",
        "What is not mapped: TLS and DTLS, other ports, answers, IPv6, fragments, empty segments, wrong lengths.",
    )
    ip = TO_SERVER / IP(src=DEVICE, dst=SERVER)
    data = Raw(b"data")
    for frame in (
        ip / TCP(sport=1, dport=8883, flags="PA") / data,
        ip / TCP(sport=1, dport=443, flags="PA") / data,
        ip / UDP(sport=1, dport=5684) / data,
    ):
        test.through(DEVICE_PORT, frame, SERVER_PORT)
    outcomes(test, encrypted=3)
    for frame in (
        ip / TCP(sport=1, dport=8883, flags="A"),
        ip / TCP(sport=1, dport=1883, flags="A"),
        ip / TCP(sport=1883, dport=5000, flags="PA") / data,
        ip / UDP(sport=5683, dport=5000) / data,
        ip / TCP(sport=1, dport=22, flags="PA") / data,
        TO_SERVER / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=5683) / data,
        TO_SERVER / IP(src=DEVICE, dst=SERVER, flags="MF", proto=17) / data,
        Ether(src="02:00:00:00:00:07", dst="ff:ff:ff:ff:ff:ff", type=0x0806) / Raw(bytes(46)),
    ):
        test.through(DEVICE_PORT, frame, SERVER_PORT)
    outcomes(test, copied=0, mapped=0, forwarded=11)
    test.say("From the server to the device.")
    back = (
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:07")
        / IP(src=SERVER, dst=DEVICE)
        / TCP(sport=1883, dport=40000)
        / data
    )
    test.through(SERVER_PORT, back, DEVICE_PORT)
    test.say(
        "A frame that is shorter than its IP length; a UDP length that is longer than the packet; a TCP header of 16 bytes."
    )
    frame = bytes(ip / UDP(sport=1, dport=5683) / Raw(coap(2, payload=b"data")))
    test.through(DEVICE_PORT, frame[:-1], SERVER_PORT)
    test.through(
        DEVICE_PORT, ip / UDP(sport=1, dport=5683, len=100, chksum=1) / Raw(coap(2, payload=b"data")), SERVER_PORT
    )
    test.through(DEVICE_PORT, ip / TCP(sport=1, dport=1883, dataofs=4) / data, SERVER_PORT)
    test.say("Padding of Ethernet is not payload.")
    short = bytes(ip / UDP(sport=1, dport=5683) / Raw(coap(2, payload=b"d")))
    test.through(DEVICE_PORT, short + bytes(11), SERVER_PORT)
    test.expect(COLLECTOR_PORT, message(COAP, b"d", 0, 1, path(b"")))
    test.say("From a port that leads nowhere.")
    test.packet(7, ip / TCP(sport=1, dport=22) / data)
    outcomes(test, not_forwarded=1)
    return test


TESTS = [mqtt_plain, mqtt_versions, mqtt_segments, coap_requests, http_requests, others]

if __name__ == "__main__":
    sys.exit(write([make() for make in TESTS]))
