#!/usr/bin/env python3
"""The UPF with GTP-U over IPv6 on N3: a UE's traffic over IPv4 and IPv6, echo, errors. Needs root, tshark, iperf3,
finsy.

    ue (TUN of gnb.py) == gnb fd00:3::2 -- 1 [upf] 2 -- server 203.0.113.9
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import check, has_finsy, main, wait_until
from test_end_to_end import SERVER, SERVER_V6, UE, UE_V6, make, start_gnb

UPF, GNB = "fd00:3::1", "fd00:3::2"
WAY = """
[[own]]
address = "fd00:3::1"
mac = "02:00:00:00:03:01"

[[route]]
prefix = "fd00:3::/64"
next_hop = 1
"""
# An echo request, and a packet for a tunnel that is not there.
MESSAGES = ("32 01 0004 00000000 abcd 0000", "30 ff 0014 0000dead 450000140000000040fd0000 01010101 02020202")
# The UPF's tunnels have no UDP checksum (RFC 6935), which tshark must be told.
OPTIONS = ("-o", "udp.ignore_ipv6_zero_checksum:TRUE")


def start_upf(bed, switch):
    """The switch, and the control program with the session of upf.toml, whose gNB has an IPv6 address."""
    settings = bed.folder / "upf.toml"
    session = (HERE / "upf.toml").read_text().replace('gnb = "192.168.3.2"', f'gnb = "{GNB}"')
    settings.write_text(session + WAY)
    bed.switch(switch, None, {1: "n3", 2: "n6"}, None, "--grpc")
    controller = switch.start(sys.executable, HERE / "control.py", settings)
    wait_until(
        lambda: "sessions" in controller.output.read_text() or controller.poll() is not None, "control.py writes", 90
    )
    check(controller.poll() is None, "control.py has written the session")


def test(bed):
    if not has_finsy():
        return
    switch, gnb, server = make(bed)
    gnb.run("ip", "address", "add", f"{GNB}/64", "dev", "eth0", "nodad")
    start_upf(bed, switch)
    start_gnb(gnb, GNB, upf=UPF)
    n3, n6 = gnb.capture("eth0"), server.capture("eth0")
    gnb.run("ping", "-c", "3", "-i", "0.2", "-I", UE, SERVER)
    gnb.run("ping", "-c", "3", "-i", "0.2", "-I", UE_V6, SERVER_V6)
    check(True, "the UE pings the data network over IPv4 and IPv6")
    gnb.run("ping", "-c", "2", "-i", "0.2", UPF)
    check(True, "the UPF answers pings on N3")
    found = gnb.run("ip", "neigh", "show", UPF)
    check("02:00:00:00:03:01" in found, "the gNB has found the UPF by neighbour discovery")
    server.start("iperf3", "-s")
    wait_until(lambda: server.succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3 listens")
    for what, options in (("uplink", ()), ("downlink", ("-R",))):
        gnb.run("iperf3", "-c", SERVER, "-B", UE, "-n", "500K", *options)
        check(True, f"500 KB of TCP, {what}")
    program = "import socket\ns = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
    program += "".join(f"s.sendto(bytes.fromhex('{one}'), ('{UPF}', 2152))\n" for one in MESSAGES)
    gnb.run(sys.executable, "-c", program)
    for capture in (n3, n6):
        capture.stop()
    check_captures(n3, n6)


def check_captures(n3, n6):
    n3.check_well_formed("N3", OPTIONS, only=f"ipv6.src == {UPF}")
    n6.check_well_formed("N6", only="eth.src == 02:00:00:00:06:01")
    check(n6.count("gtp") == 0, "no tunnel on N6")
    fields = ("gtp.teid", "gtp.ext_hdr.pdu_ses_con.qos_flow_id", "gtp.ext_hdr.pdu_ses_con.pdu_type")
    downlink = n3.fields(f"gtp.message == 255 and ipv6.src == {UPF}", *fields)
    is_right = {tuple(row) for row in downlink} == {("0x00002001", "9", "0")}
    check(len(downlink) > 50 and is_right, f"{len(downlink)} downlink packets have TEID, QFI 9 and PDU type 0")
    echo = n3.fields(f"gtp.message == 2 and ipv6.src == {UPF}", "gtp.seq_number", "gtp.recovery")
    check(["0xabcd", "0"] in echo, "Echo Response with sequence number and Recovery")
    error = n3.fields("gtp.message == 26", "gtp.teid_data", "gtp.gsn_ipv6")
    check(["0x0000dead", UPF] in error, f"Error Indication with TEID and address {error}")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", "ping", "ss"))
