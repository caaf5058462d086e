#!/usr/bin/env python3
"""Devices with mosquitto_pub, coap-client and curl, servers with mosquitto, libcoap and nginx, and iot_aggregate behind
the mapping. Needs root, mosquitto, mosquitto-clients, libcoap3-bin, nginx, curl and tshark; finsy for the control
program.

    device 10.0.0.7 -- 1 [mapping] 2 -- server 10.0.0.1
                            3
                            |
                       1 [iot_aggregate, N = 4] 2 -- collector 10.9.0.2
"""

import json
import pathlib
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import ROOT, check, has_finsy, main, start_again, wait_until

PROGRAM = HERE / "iot_mapping.p4"
AGGREGATE = ROOT / "programs/iot_aggregate/iot_aggregate.p4"
S, N = 54, 4
TOPICS = ("sensors/7/temperature", "/sensors/7", "five")
AGGREGATOR = """
add ipv4_lpm ipv4.dst_addr:0x0A090002/32 to_next_hop(next_hop_id:1, port:2)
add next_hops next_hop:1 set_macs(src_addr:0x0200000000CC, dst_addr:0x0200000000C0)
"""
NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
server {{ listen 80; location / {{ return 200 "taken"; }} }} }}
"""


def make(bed):
    mapping, aggregate = bed.namespace("mapping"), bed.namespace("aggregate")
    device = bed.host("device", "eth0", mapping, "devices", "10.0.0.7/24", mac="02:00:00:00:00:07")
    server = bed.host("server", "eth0", mapping, "servers", "10.0.0.1/24", mac="02:00:00:00:00:01")
    bed.link(mapping, "messages", aggregate, "messages")
    collector = bed.host("collector", "eth0", aggregate, "collector", "10.9.0.2/24", mac="02:00:00:00:00:c0")
    file = bed.folder / "aggregate.stf"
    file.write_text(AGGREGATOR)
    bed.switch(aggregate, AGGREGATE, {1: "messages", 2: "collector"}, file, "-D", f"N={N}", "-D", f"S={S}")
    return mapping, device, server, collector


def start_mapping(bed, mapping):
    ports = {1: "devices", 2: "servers", 3: "messages"}
    if not has_finsy():
        bed.switch(mapping, PROGRAM, ports, HERE / "entries.stf")
        return None
    bed.switch(mapping, None, ports, None, "--grpc")
    controller = mapping.start(
        sys.executable, HERE / "control.py", "--wire", "1,2", "--target", "3,02:00:00:00:00:bb,10.9.0.2",
        "--source", "02:00:00:00:00:aa,10.9.0.1", "--report", "0.5",
    )  # fmt: skip
    wait_until(
        lambda: "ready" in controller.output.read_text() or controller.poll() is not None, "control.py is ready", 60
    )
    check(controller.poll() is None, "control.py has set the mapping up")
    return controller


def start_servers(bed, server):
    folder = bed.folder / "nginx"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    (folder / "mosquitto.conf").write_text("listener 1883\nallow_anonymous true\n")
    server.start("nginx", "-c", folder / "nginx.conf", "-e", folder / "error.log")
    server.start("mosquitto", "-c", folder / "mosquitto.conf")
    server.start(coap("server"), "-A", "10.0.0.1", "-d", "10")
    for port, kind in ((80, "t"), (1883, "t"), (5683, "u")):
        wait_until(
            lambda port=port, kind=kind: server.succeeds("sh", "-c", f"ss -l{kind}n | grep -q :{port}"),
            f"the server at port {port}",
        )


def coap(what):
    """libcoap's program, by the name that this system has for it."""
    return next((name for name in (f"coap-{what}-notls", f"coap-{what}-openssl") if shutil.which(name)), f"coap-{what}")


def received(listener):
    return [json.loads(line) for line in listener.output.read_text().splitlines() if line.startswith("{")]


def test(bed):
    mapping, device, server, collector = make(bed)
    controller = start_mapping(bed, mapping)
    start_servers(bed, server)
    listener = collector.start(
        sys.executable, HERE / "messages.py", "--bind", "10.9.0.2", "-S", S, "--topic", *TOPICS, name="messages"
    )
    wait_until(lambda: "ready" in listener.output.read_text(), "messages.py listens")
    capture = collector.capture("eth0")
    at_server = server.capture("eth0")
    if controller:
        controller = start_again(mapping, controller, device, "10.0.0.1")
    subscriber = server.start("mosquitto_sub", "-h", "10.0.0.1", "-t", "sensors/#", "-C", "8")
    time.sleep(0.5)

    for value in range(8):
        device.run(
            "mosquitto_pub", "-h", "10.0.0.1", "-t", "sensors/7/temperature", "-m", f"{20 + value}.5", "-q", value % 3
        )
    device.run("mosquitto_pub", "-V", "mqttv5", "-h", "10.0.0.1", "-t", "five", "-m", "five")
    device.run("mosquitto_pub", "-h", "10.0.0.1", "-t", "sensors/7/temperature", "-m", "x" * 200)
    check(subscriber.wait(timeout=10) == 0, "mosquitto's broker and subscriber get every message")
    for value in range(4):
        device.run(coap("client"), "-m", "put", "-e", f"c{value}", "coap://10.0.0.1/sensors/7")
    for value in range(4):
        out = device.run("curl", "-sS", "-m", "5", "-d", f"h{value}", "http://10.0.0.1/sensors/7")
        check(out == "taken", f"HTTP POST {value} is answered by nginx")
    check(device.run("curl", "-sS", "-m", "5", "http://10.0.0.1/") == "taken", "HTTP GET is answered")

    wanted = {
        "mqtt": {f"{20 + value}.5" for value in range(8)} | {"five"},
        "coap": {f"c{value}" for value in range(4)},
        "http": {f"h{value}" for value in range(4)},
    }
    wait_until(lambda: len(received(listener)) >= 16, "messages arrive", 10)
    got = received(listener)
    check(all(one["gathered"] for one in got), f"iot_aggregate has gathered them, {N} to a packet: {len(got)} messages")
    # The 17th waits for three others.
    seen = {kind: {one["payload"] for one in got if one["protocol"] == kind} for kind in wanted}
    missing = {kind: wanted[kind] - seen[kind] for kind in wanted}
    check(sum(map(len, missing.values())) == 1, f"all but the last are there: {missing}")
    check(all(not seen[kind] - wanted[kind] for kind in wanted), "and nothing else")
    topics = {(one["protocol"], one["topic"]) for one in got}
    check(
        topics <= {("mqtt", TOPICS[0]), ("mqtt", TOPICS[2]), ("coap", TOPICS[1]), ("http", TOPICS[1])},
        f"with their topics: {sorted(topics)}",
    )
    if controller:
        wait_until(lambda: '"mapped": 17' in controller.output.read_text(), "17 messages are counted as mapped")
        last = [json.loads(line) for line in controller.output.read_text().splitlines() if line.startswith("{")][-1]
        check(last["too_long"] == 1, f"what is not mapped is counted: {last}")
    for one in (capture, at_server):
        one.stop()
    capture.check_well_formed("messages", only="udp.port == 9000")
    at_server.check_well_formed("at the servers", only="eth.dst == 02:00:00:00:00:01")
    answers = at_server.fields("coap.code >= 64 and coap.code < 96", "coap.code")
    check(len(answers) == 4, "libcoap's server answers each PUT with success")
    check(not server.checksum_errors(), "the servers' kernel counts no wrong checksum")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "curl", "mosquitto", "mosquitto_pub", "nginx", coap("client"), "ss"))
