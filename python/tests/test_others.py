"""Packages of others: PTF, scapy, p4runtime, pyarrow."""

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest

import forebay.ptf
from forebay import Batch, Departures, Simulation, Switch, compile, examples, sweep
from forebay._extras import needed
from forebay.testing import assert_output

QUEUE = examples.path("queue.toml")


@pytest.fixture
def router() -> Switch:
    switch = Switch(examples.path("router.p4"), ports=4)
    switch.table("ipv4_lpm").add({"dst_addr": "10.1.0.0/16"}, "forward", {"port": 3, "mac": 5})
    return switch


def printed(show: Any, packet: Any) -> str:
    with redirect_stdout(io.StringIO()) as text:
        show(packet)
    return text.getvalue()


def test_ptf_prints_packets_by_their_fields() -> None:
    packet = compile(examples.path("router.p4")).packets.build(ethernet={"dst_addr": 1}, payload=b"abc")
    assert not isinstance(packet, forebay.ptf.Packet), "ptf would read packets by the class of the expected one"
    assert "ether_type  0x0000" in printed(forebay.ptf.hexdump, packet)
    assert printed(forebay.ptf.hexdump, packet).endswith(
        "0000  00 00 00 00 00 01 00 00 00 00 00 00 00 00 61 62\n0010  63\n"
    )
    # The mask of ptf.mask.Mask is a list of numbers.
    assert printed(forebay.ptf.hexdump, [255, 0]) == "0000  ff 00\n"
    assert "dst_addr" in printed(forebay.ptf.ls, packet)


def test_places_of_fields_are_those_of_the_bytes() -> None:
    codec = compile(examples.path("router.p4")).packets
    packet = codec.build(payload=b"x", ethernet={}, ipv4={})
    for header in packet.headers:
        for field, _ in header:
            before, width = packet.place(header.name, field)
            header[field] = (1 << width) - 1
            bits = int.from_bytes(bytes(packet), "big") & ~0x78
            assert bits == ((1 << width) - 1) << (8 * len(packet) - before - width)
            header[field] = 0
    with pytest.raises(AttributeError, match="has no field 'tll'"):
        packet.place("ipv4", "tll")
    with pytest.raises(KeyError, match="no header 'ipv6'"):
        packet.place("ipv6", "ttl")


def test_packets_of_scapy(router: Switch) -> None:
    inet = pytest.importorskip("scapy.layers.inet")
    ether = pytest.importorskip("scapy.layers.l2").Ether
    packet = ether() / inet.IP(dst="10.1.2.3", ttl=9) / b"data"
    [left] = router.send(packet, port=1)
    assert ether(left.data)[inet.IP].ttl == 8 and left.port == 3
    assert len(router.send_batch([packet, packet], ports=1)) == 2
    assert_output(router, packet, {3: left.data}, port=1)
    assert router.trace(packet).of("lookup")[0]["hit"]
    assert Batch.of([packet])[0] == bytes(packet)


def test_the_p4info_as_a_message() -> None:
    pytest.importorskip("p4.config.v1.p4info_pb2")
    program = compile(examples.path("router.p4"))
    info = program.p4info_message()
    assert info.pkg_info.arch == "v1model"
    [table] = info.tables
    assert table.preamble.name == "Routing.ipv4_lpm" and table.match_fields[0].bitwidth == 32
    assert compile(program.ir).p4info_message() is None


def test_results_as_arrow() -> None:
    pytest.importorskip("pyarrow")
    results, frames = Simulation(QUEUE, LOAD=10).run_with_departures()
    table = results.to_arrow()
    assert table.column_names == ["measure", "sample", "value"]
    place = table["measure"].to_pylist().index("results.sources.in.sent")
    assert table["value"][place].as_py() == results["sources.in.sent"]
    departures = frames.to_arrow()
    assert departures.column_names == ["port", "source", "sequence", "arrived_ps", "departed_ps", "bytes"]
    assert departures["port"][0].as_py() == "switch:1" and departures["source"][0].as_py() == "in"
    assert np.array_equal(departures["departed_ps"].to_numpy(), frames.departed_ps)
    found = sweep(QUEUE, {"LOAD": [10]}, processes=1)
    assert found.to_arrow().column_names == ["point", "seed", "LOAD", "measure", "sample", "value"]


def test_types_of_arrow_are_those_of_columns_that_are_empty() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    of_a_timer = np.array([[0, -1, 0, -1, 1_000, 64]], dtype=np.int64)
    tables = [Departures(["switch:1"], [], rows).to_arrow() for rows in (of_a_timer, of_a_timer[:0])]
    text, number = pyarrow.string(), pyarrow.int64()
    assert [table.schema.types for table in tables] == [[text, text, number, number, number, number]] * 2
    assert tables[0].to_pylist()[0]["source"] is None and tables[0].to_pylist()[0]["arrived_ps"] is None


def test_a_package_that_is_missing_is_named_with_its_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"no_such_package is missing: pip install 'forebay\[dask\]'"):
        needed("dask", "no_such_package.part")
