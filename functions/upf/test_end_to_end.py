#!/usr/bin/env python3
"""The UPF between a gNB with a UE and a data network: sessions, rates, buffering, handover, path management. Needs
root, tshark, iperf3; with finsy the control program is tested, without it the entries of upf.toml are written from a
file.

    ue (TUN of gnb.py) == gnb 192.168.3.2 -- 1 [upf] 2 -- server 203.0.113.9
                          gnb2 192.168.3.3 (the same link)
"""

import json
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import check, has_finsy, main, start_again, wait_until

PROGRAM = HERE / "upf.p4"
UE, UE_V6, SERVER, SERVER_V6 = "10.45.0.2", "2001:db8:45::2", "203.0.113.9", "2001:db8:9::9"


def write_settings(path, **changes):
    """upf.toml with other values in its session."""
    text = (HERE / "upf.toml").read_text()
    for key, value in changes.items():
        lines = text.splitlines()
        lines = [f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in lines]
        text = "\n".join(lines) + "\n"
    path.write_text(text)


def start_gnb(namespace, address, uplink=0x1001, downlink=0x2001, upf="192.168.3.1"):
    gnb = namespace.start(
        sys.executable, HERE / "gnb.py", "--bind", address, "--upf", upf,
        "--uplink-teid", hex(uplink), "--downlink-teid", hex(downlink),
    )  # fmt: skip
    wait_until(lambda: "ready" in gnb.output.read_text() or gnb.poll() is not None, "gnb.py starts")
    namespace.run("ip", "link", "set", "ue", "up", "mtu", "1420")
    namespace.run("sysctl", "-qw", "net.ipv6.conf.ue.accept_ra=0")
    namespace.run("ip", "address", "add", f"{UE}/32", "dev", "ue")
    namespace.run("ip", "address", "add", f"{UE_V6}/128", "dev", "ue", "nodad")
    namespace.run("ip", "route", "add", "203.0.113.0/24", "dev", "ue")
    namespace.run("ip", "route", "add", "2001:db8:9::/48", "dev", "ue")
    return gnb


def make(bed):
    switch = bed.namespace("upf")
    gnb = bed.host("gnb", "eth0", switch, "n3", "192.168.3.2/24", mac="02:00:00:00:03:02", mtu=1600)
    server = bed.host("server", "eth0", switch, "n6", "198.51.100.2/24", mac="02:00:00:00:06:02")
    server.run("ip", "address", "add", f"{SERVER}/32", "dev", "lo")
    server.run("ip", "address", "add", f"{SERVER_V6}/128", "dev", "lo", "nodad")
    server.run("ip", "route", "add", "10.45.0.0/16", "via", "198.51.100.1", "src", SERVER)
    server.run("ip", "address", "add", "2001:db8:6::2/64", "dev", "eth0", "nodad")
    server.run("ip", "neigh", "add", "2001:db8:6::1", "lladdr", "02:00:00:00:06:01", "dev", "eth0")
    server.run("ip", "route", "add", "2001:db8:45::/48", "via", "2001:db8:6::1", "src", SERVER_V6)
    return switch, gnb, server


def test(bed):
    switch, gnb, server = make(bed)
    is_controlled = has_finsy()
    settings = bed.folder / "upf.toml"
    ports = {1: "n3", 2: "n6"}
    if is_controlled:
        write_settings(settings)
        bed.switch(switch, None, ports, None, "--grpc")
        controller = switch.start(sys.executable, HERE / "control.py", settings, "--usage", "0.5", "--echo", "0.5")
        wait_until(
            lambda: "sessions" in controller.output.read_text() or controller.poll() is not None,
            "control.py writes entries",
            60,
        )
        check(controller.poll() is None, "control.py has written the session")
    else:
        bed.switch(switch, PROGRAM, ports, HERE / "entries.stf")
    start_gnb(gnb, "192.168.3.2")
    n3, n6 = gnb.capture("eth0"), server.capture("eth0")

    gnb.run("ping", "-c", "2", "192.168.3.1")
    check(True, "the UPF answers ARP and pings on N3")
    gnb.run("ping", "-c", "3", "-i", "0.2", "-I", UE, SERVER)
    check(True, "the UE pings the data network")
    gnb.run("ping", "-c", "3", "-i", "0.2", "-I", UE_V6, SERVER_V6)
    check(True, "over IPv6, too")
    server.run("ping", "-c", "2", "-i", "0.2", "-s", "1300", "-I", SERVER, UE)
    check(True, "the data network pings the UE")
    server.start("iperf3", "-s")
    wait_until(lambda: server.succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3 listens")
    for what, options in (("uplink", ()), ("downlink", ("-R",))):
        gnb.run("iperf3", "-c", SERVER, "-B", UE, "-n", "1M", *options)
        check(True, f"1 MB of TCP, {what}")
    gnb.run("iperf3", "-c", SERVER_V6, "-B", UE_V6, "-n", "500K")
    check(True, "TCP over IPv6")
    send_strange_messages(gnb)

    if is_controlled:
        controller = start_again(switch, controller, gnb, "-I", UE, SERVER)
        control(bed, controller, settings, gnb, server)
    for capture in (n3, n6):
        capture.stop()
    check_captures(n3, n6)


def send_strange_messages(gnb):
    """An echo request, an unknown TEID, an unknown extension header, rubbish."""
    hexadecimal = (
        "32 01 0004 00000000 abcd 0000",
        "30 ff 0014 0000dead 450000140000000040fd000001010101 02020202",
        "34 ff 001c 00001001 0000 00 c0 01 00 01 00 450000140000000040fd0000 0a2d0002 cb007109",
        "30 ff 0004 00001001 ffffffff",
        "f0 ff ff",
        "34 ff ffff 00001001 0000 00 85 00",
    )
    program = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    program += "".join(f"s.sendto(bytes.fromhex('{one}'), ('192.168.3.1', 2152))\n" for one in hexadecimal)
    gnb.run(sys.executable, "-c", program)


def control(bed, controller, settings, gnb, server):
    """Idle and active again, handover, usage, rates."""
    output = controller.output.read_text

    def reload(text, **changes):
        seen = output().count(text)
        write_settings(settings, **changes)
        controller.send_signal(signal.SIGHUP)
        wait_until(lambda: output().count(text) > seen, f"control.py: {text}")

    reload("changed", state='"idle"')
    ping = server.start("ping", "-c", "1", "-W", "10", "-I", SERVER, UE)
    wait_until(lambda: "downlink data" in output(), "a packet for an idle UE is told of")
    check(ping.poll() is None, "a packet for an idle UE is kept")
    reload("packets that were kept", state='"active"')
    check(ping.wait(timeout=10) == 0, "it is delivered when the UE is active again")

    gnb.run("ip", "address", "add", "192.168.3.3/24", "dev", "eth0")
    reload("end marker to", gnb='"192.168.3.3"', downlink_teid="0x2009")
    markers = lambda: [process for process in bed.processes if "message 254" in process.output.read_text()]
    wait_until(markers, "the old gNB gets an end marker")
    check(True, "a handover sends an end marker to the old tunnel")
    reload("changed")
    gnb.run("ping", "-c", "1", "-W", "5", "-I", UE, SERVER)

    # Lines of before the end of the transfers may come late.
    def is_all(usage):
        return min(usage["uplink_bytes"], usage["downlink_bytes"]) > 500_000 and usage["uplink_packets"] > 500

    wait_until(lambda: any(map(is_all, usages(output())[-1:])), "the volumes of the session are printed")
    check(True, f"usage: {usages(output())[-1]}")
    check("path is down" not in output(), "the path to the gNB is supervised and up")

    reload("sessions:", flow_rate="2_000_000", session_rate="4_000_000")
    began = time.monotonic()
    gnb.run("iperf3", "-c", SERVER, "-B", UE, "-n", "600K", "-R", timeout=90)
    rate = 600 * 1024 * 8 / (time.monotonic() - began)
    check(rate < 2_600_000, f"a rate of 2 Mbit/s is kept ({rate / 1e6:.1f} Mbit/s)")


def usages(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def check_captures(n3, n6):
    n3.check_well_formed("N3", only="ip.src == 192.168.3.1 or not udp.port == 2152")
    n6.check_well_formed("N6", only="eth.src == 02:00:00:00:06:01")
    downlink = n3.fields(
        "gtp.message == 255 and ip.src == 192.168.3.1",
        "gtp.teid",
        "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
        "gtp.ext_hdr.pdu_ses_con.pdu_type",
    )
    check(
        len(downlink) > 100
        and {tuple(row) for row in downlink} <= {("0x00002001", "9", "0"), ("0x00002009", "9", "0")},
        f"{len(downlink)} downlink packets have TEID, QFI 9 and PDU type 0",
    )
    check(n6.count("gtp") == 0, "no tunnel on N6")
    echo = n3.fields("gtp.message == 2 and ip.src == 192.168.3.1", "gtp.seq_number", "gtp.recovery")
    check(["0xabcd", "0"] in echo, "Echo Response with sequence number and Recovery")
    error = n3.fields("gtp.message == 26", "gtp.teid_data", "gtp.gsn_ipv4")
    check(["0x0000dead", "192.168.3.1"] in error, "Error Indication with TEID and address")
    check(n3.count("gtp.message == 31") == 1, "Supported Extension Headers Notification")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", "ping", "ss"))
