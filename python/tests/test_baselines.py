"""The pure parts of benches/baselines: formats, batches, and what is computed from counts."""

import json
import struct
from typing import Any

import contenders
import iot_path
import messages
import mqtt
import mqtt_traffic
import pytest
import report
import results

WAN = contenders.Wan("wan", 8, 20, 0)
PAYLOADS = [bytes([i]) * messages.PAYLOAD_BYTES for i in range(1, 9)]


def frame(body: bytes, padding: bytes = b"") -> bytes:
    """A frame with right lengths and checksums."""
    head = b"\x02" * 12 + b"\x08\x00"
    ip = bytes([0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 1, 0, 1, 10, 1, 2, 2])
    udp = struct.pack("!HHHH", 40000, messages.UDP_PORT, 0, 0)
    return messages.with_body(head + ip + udp, body) + padding


def sums_to_zero(packet: bytes) -> bool:
    """Whether both checksums are right: with them, the sums are zero."""
    total = int.from_bytes(packet[16:18], "big")
    segment = packet[34 : 14 + total]
    pseudo_header = packet[26:34] + struct.pack("!BBH", 0, 17, len(segment))
    return messages.checksum(packet[14:34]) == 0 and messages.checksum(pseudo_header + segment) == 0


def test_the_checksum_is_that_of_rfc_1071() -> None:
    assert messages.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF - 0xDDF2
    assert messages.checksum(b"\x01") == 0xFEFF


@pytest.mark.parametrize("n", range(1, 9))
def test_a_batch_is_split_into_what_it_was_made_of(n: int) -> None:
    batches = messages.Batches(n)
    bodies = [messages.MESSAGE + payload for payload in PAYLOADS[:n]]
    made = [batches.add("flow", body) for body in bodies]
    assert made[:-1] == [None] * (n - 1)
    assert len(made[-1]) == messages.FLAG_BYTES + n * messages.PAYLOAD_BYTES
    assert messages.split(made[-1]) == bodies
    assert not batches.open


def test_flows_have_batches_of_their_own() -> None:
    batches = messages.Batches(2)
    first, second = (messages.MESSAGE + payload for payload in PAYLOADS[:2])
    assert batches.add("a", first) is None
    assert batches.add("b", second) is None
    assert messages.split(batches.add("a", second)) == [first, second]


@pytest.mark.parametrize("n", [1, 2, 8])
def test_frames_get_right_lengths_and_checksums(n: int) -> None:
    body = messages.N_PACKET + b"".join(PAYLOADS[:n])
    packet = frame(body)
    assert len(packet) == 48 + 16 * n
    assert packet[16:18] == (20 + 8 + len(body)).to_bytes(2, "big")
    assert packet[38:40] == (8 + len(body)).to_bytes(2, "big")
    assert sums_to_zero(packet)
    assert messages.is_iot(packet)
    assert messages.body_of(packet) == body


def test_padding_of_ethernet_is_not_part_of_a_body() -> None:
    body = messages.MESSAGE + PAYLOADS[0]
    assert messages.body_of(frame(body, b"\xee" * 10)) == body


def test_other_frames_are_not_iot() -> None:
    packet = frame(messages.MESSAGE + PAYLOADS[0])
    for at, value in ((12, 0x86), (14, 0x46), (23, 6), (36, 0)):
        assert not messages.is_iot(packet[:at] + bytes([value]) + packet[at + 1 :])
    assert not messages.is_iot(packet[:40])


def counts(buckets: list[int]) -> dict[str, Any]:
    """What a receiver says that began at 1 s, with buckets of 10 ms."""
    names = ("duplicates", "corrupted", "foreign", "reordered", "datagrams")
    base = {"begin_us": 1_000_000, "bucket_us": 10_000, "buckets": buckets, "received": sum(buckets)}
    return base | dict.fromkeys(names, 0)


def test_goodput_is_counted_while_the_sender_sends() -> None:
    sent = {"begin_us": 1_000_000, "end_us": 1_100_000, "sent": 1000}
    # 100 messages in 10 ms are 10,000 a second: 1.28 Mbps. Warm-up and what comes afterwards do not count.
    received = counts([0, 50] + [100] * 8 + [500])
    assert results.goodput_mbps(sent, received) == pytest.approx(1.28)
    assert results.goodput_mbps(sent | {"end_us": 1_005_000}, received) == 0.0


def test_a_point_names_what_is_missing() -> None:
    sent = {"begin_us": 1_000_000, "end_us": 1_100_000, "sent": 1000}
    point = results.point(sent, counts([90] * 10), 0.002)
    assert point["lost"] == 100
    assert point["arrival_per_s"] == pytest.approx(10_000)
    assert point["processor_us_per_message"] == pytest.approx(2)
    assert not results.kept_up(point)


def test_a_rate_is_taken_without_loss_and_without_a_queue() -> None:
    point = {"arrival_per_s": 10_000, "lost": 0, "goodput_mbps": 1.2, "sent": 10}
    assert results.kept_up(point)
    assert not results.kept_up(point | {"goodput_mbps": 0.6})
    assert results.best([point, point | {"arrival_per_s": 20_000}]) == (1.2, 10_000)
    assert not results.saturated([point, point])
    assert results.saturated([point, point | {"goodput_mbps": 0.6}, point | {"goodput_mbps": 0.5}])


def test_flows_send_whole_batches() -> None:
    assert results.messages_per_flow(1000, 1.0, 4, 8) == 248
    assert results.messages_per_flow(10, 0.1, 4, 8) == 8


def test_ratios_are_of_one_n_and_one_way() -> None:
    rows = [
        {"stages": "both", "n": 2, "contender": name, "goodput_mbps": value, "lost": 1, "arrival_per_s": 1.0}
        for name, value in (("forebay", 8.0), ("controllers", 0.5), ("forebay", 6.0))
    ]
    found = {row["contender"]: row["over_controllers"] for row in results.ratios(rows, "controllers")}
    assert found == {"forebay": 16.0, "controllers": 1.0}
    assert results.ratios(rows[:1], "controllers") == []


def test_a_long_link_has_its_own_figures() -> None:
    sent = {"begin_us": 1_000_000, "end_us": 1_100_000, "sent": 1000, "retransmissions": 50, "given_up": 1}
    received = counts([98] * 10) | {"gaps": 4, "processor_us": 1960, "duplicates": 20}
    link = {"to_server": {"wire_bytes": 25_000}}
    row = results.path_point(sent | {"confirmed": 999}, received, link)
    assert row["lost"] == 20
    assert row["lost_together"] == 5
    assert row["wire_bytes_per_message"] == 25
    assert row["server_us_per_message"] == pytest.approx(1.96)
    assert (row["retransmissions_per_message"], row["in_vain_per_message"]) == (0.05, 0.02)
    assert "given_up" not in results.path_point(sent, received, link)


def test_switches_have_routes_both_ways_and_a_copy_for_each_message() -> None:
    routes = contenders.forebay_routes(3)
    assert "add ipv4_lpm ipv4.dst_addr:0x0A010300/24 to_next_hop(next_hop_id:7, port:2)" in routes
    assert "add ipv4_lpm ipv4.dst_addr:0x0A010000/24 to_next_hop(next_hop_id:8, port:1)" in routes
    groups = contenders.Forebay("forebay").groups(2)
    assert groups[:3] == ["mc_node_create 0 2", "mc_node_create 1 2", "mc_mgrp_create 1002"]
    timed = contenders.TimedForebay("forebay", 1000).groups(2)
    assert timed[2:] == [
        "mc_mgrp_create 1016",
        "mc_node_associate 1016 0",
        "mc_mgrp_create 1017",
        "mc_node_associate 1017 0",
        "mc_node_associate 1017 1",
    ]


def test_ways_have_the_long_link_between_their_stages() -> None:
    def names(way: str) -> list[tuple[str, str]]:
        return [(contender.name, role) for contender, role in iot_path.stages(way, "forebay", WAN)[0]]

    assert names("plain") == [("wan", "")]
    assert names("n8") == [("forebay", "aggregate"), ("wan", ""), ("forebay", "disaggregate")]
    assert names("server8") == names("n8")[:2]
    assert names("timed4-20ms") == [("timed", "aggregate"), ("wan", ""), ("timed", "disaggregate")]
    assert iot_path.stages("timed4-20ms", "forebay", WAN)[1] == 4
    assert iot_path.stages("timed4-20ms", "forebay", WAN)[0][0][0].max_age_us == 20_000


def test_a_quick_run_has_every_part() -> None:
    parts = {point.part for point in iot_path.points(quick=True)}
    assert parts == {point.part for point in iot_path.points(quick=False)}
    assert len(list(iot_path.points(quick=True))) < 30


def test_a_record_is_json_with_a_point_a_line() -> None:
    record = {"date": "2026-11-25", "points": [{"n": 1, "goodput_mbps": 0.123456789}, {"n": 2, "delay_us": None}]}
    text = results.record_text(record)
    assert json.loads(text) == {**record, "points": [{"n": 1, "goodput_mbps": 0.1235}, {"n": 2, "delay_us": None}]}
    assert text.count("\n") == 7


def test_the_page_has_the_tables_of_the_records() -> None:
    if not report.PAGE.exists():
        pytest.skip("not in a checkout of the repository")
    page = report.PAGE.read_text(encoding="utf-8")
    assert report.written(page, report.tables()) == page, "run benches/baselines/report.py"
    record = json.loads((report.RECORDS / "record.json").read_text(encoding="utf-8"))
    for contender in ("controllers", "forebay"):
        curves = (report.RECORDS / f"{contender}.csv").read_text(encoding="utf-8")
        assert curves == report.goodput_csv(record, contender), "run benches/baselines/report.py"


def test_packets_of_mqtt_are_those_of_the_standard() -> None:
    assert mqtt.connect("a") == bytes.fromhex("100d00044d5154540402000000") + b"\x01a"
    assert mqtt.puback(10) == bytes.fromhex("4002000a")
    assert mqtt.subscribe("a/b", 10) == bytes.fromhex("8208000a0003612f6201")
    assert mqtt.publish("a", b"xyz", 1) == bytes.fromhex("3208000161000178797a")


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_stream_of_mqtt_is_read_in_any_pieces(size: int) -> None:
    payloads = [b"", b"short", b"x" * 300, b"y" * 20_000]
    stream = b"".join(mqtt.publish("sensors", payload, 7 + i) for i, payload in enumerate(payloads)) + mqtt.puback(3)
    decoder = mqtt.Decoder()
    packets = [packet for at in range(0, len(stream), size) for packet in decoder.feed(stream[at : at + size])]
    assert [kind for kind, _, _ in packets] == [mqtt.PUBLISH] * 4 + [mqtt.PUBACK]
    messages_read = [mqtt.message_of(flags, body) for _, flags, body in packets[:4]]
    assert messages_read == [("sensors", 7 + i, p) for i, p in enumerate(payloads)]


def test_a_message_with_qos_0_has_no_identifier() -> None:
    [(kind, flags, body)] = mqtt.Decoder().feed(bytes.fromhex("3007000161") + b"21.5")
    assert (kind, mqtt.message_of(flags, body)) == (mqtt.PUBLISH, ("a", None, b"21.5"))


def test_a_subscriber_counts_what_is_wrong() -> None:
    def payload(run: int, flow: int, sequence: int) -> bytes:
        head = mqtt_traffic.PAYLOAD.pack(run, flow, sequence, 0, 0)
        return head[:-4] + mqtt_traffic.check_of(head).to_bytes(4, "little")

    found = mqtt_traffic.Results(1, 2, 4)
    for taken in [payload(1, 0, 0), payload(1, 0, 0), payload(2, 0, 1), payload(1, 0, 3), payload(1, 0, 2), b"x" * 16]:
        found.take(taken)
    summary = found.summary()
    names = ("received", "duplicates", "foreign", "corrupted", "reordered", "datagrams", "gaps")
    assert [summary[name] for name in names] == [3, 1, 1, 1, 1, 6, 1]


def test_quantiles_are_values_that_occurred() -> None:
    found = mqtt_traffic.quantiles(list(range(100, 0, -1)))
    assert (found["min"], found["p5"], found["median"], found["p99"], found["max"]) == (1, 6, 51, 100, 100)
