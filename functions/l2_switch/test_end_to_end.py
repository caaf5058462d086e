#!/usr/bin/env python3
"""Two bridges joined by a trunk, hosts in two VLANs: learning, ageing, moves, isolation. Needs root, tshark, iperf3 and
finsy.

a1 (VLAN 10), a2 (10), a3 (20) -- [bridge a] == trunk == [bridge b] -- b1 (10), b2 (20)
"""

import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import check, has_finsy, main, start_again, statistics, stop, wait_until, whole_frames

AGE = 5
VLAN = {"a1": 10, "a2": 10, "a3": 20, "b1": 10, "b2": 20}
PORT = {"a1": 1, "a2": 2, "a3": 3, "b1": 1, "b2": 2}
ADDRESS = {"a1": "10.0.0.1", "a2": "10.0.0.2", "a3": "10.0.0.3", "b1": "10.0.0.4", "b2": "10.0.0.5"}
TRUNK = 9


def mac(name):
    return f"02:00:00:00:00:{10 * (name[0] == 'b') + int(name[1]):02x}"


def settings(side, blocked=()):
    text = f"age = {AGE}\n"
    for name in VLAN:
        if name[0] == side:
            state = "blocked" if name in blocked else "forwarding"
            text += f'[[port]]\nnumber = {PORT[name]}\nuntagged = {VLAN[name]}\nstate = "{state}"\n'
    return text + f"[[port]]\nnumber = {TRUNK}\ntagged = [10, 20]\n"


def start_bridge(bed, side, namespace):
    ports = {PORT[name]: name for name in VLAN if name[0] == side} | {TRUNK: "trunk"}
    switch = bed.switch(namespace, None, ports, None, "--grpc")
    file = bed.folder / f"{side}.toml"
    file.write_text(settings(side))
    controller = namespace.start(sys.executable, HERE / "control.py", file)
    wait_until(
        lambda: "VLANs" in controller.output.read_text() or controller.poll() is not None,
        "control.py writes its entries",
        60,
    )
    check(controller.poll() is None, f"control.py has made bridge {side}")
    return switch, controller, file


def reaches(host, name, tries=1):
    return host.succeeds("ping", "-c", str(tries), "-i", "0.2", "-W", "1", ADDRESS[name])


def test(bed):
    if not has_finsy():
        return
    bridges = {side: bed.namespace(f"bridge-{side}") for side in "ab"}
    hosts = {
        name: bed.host(name, "eth0", bridges[name[0]], name, f"{ADDRESS[name]}/24", mac=mac(name)) for name in VLAN
    }
    bed.link(bridges["a"], "trunk", bridges["b"], "trunk", 1600)
    for bridge in bridges.values():
        whole_frames(bridge, "trunk")
    switch, controller, file = start_bridge(bed, "a", bridges["a"])
    start_bridge(bed, "b", bridges["b"])
    trunk = bridges["b"].capture("trunk")

    for one, other in (("a1", "a2"), ("a1", "b1"), ("a3", "b2")):
        check(reaches(hosts[one], other, 2), f"{one} reaches {other} (VLAN {VLAN[one]})")
    for one, other in (("a1", "a3"), ("b2", "b1"), ("a2", "b2")):
        check(not reaches(hosts[one], other), f"{one} does not reach {other}, in another VLAN")
    learnt = lambda name: (
        f"{mac(name).replace(':', '')} is on port {PORT.get(name) if name[0] == 'a' else TRUNK} in VLAN {VLAN[name]}"
    )
    wait_until(
        lambda: all(learnt(name) in controller.output.read_text() for name in ("a1", "a2", "a3", "b1", "b2")),
        "addresses are learnt",
    )
    check(True, "bridge a has learnt five addresses, each in its VLAN")

    seen = hosts["a2"].capture("eth0")
    # What was forgotten meanwhile is learnt again; then TCP begins.
    reaches(hosts["a1"], "b1", 2)
    time.sleep(0.3)
    hosts["b1"].start("iperf3", "-s")
    wait_until(lambda: hosts["b1"].succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3 listens")
    hosts["a1"].run("iperf3", "-c", ADDRESS["b1"], "-n", "4M")
    seen.stop()
    flooded = seen.count(f"eth.src == {mac('a1')} and tcp")
    check(flooded == 0, "TCP between a1 and b1 is not flooded to a2")

    hosts["b1"].run("ip", "link", "set", "eth0", "address", mac("a2"))
    hosts["a2"].run("ip", "link", "set", "eth0", "down")
    hosts["b1"].run("ip", "address", "flush", "dev", "eth0")
    hosts["b1"].run("ip", "address", "add", f"{ADDRESS['a2']}/24", "dev", "eth0")
    check(reaches(hosts["b1"], "a1", 3), "a station that has moved is reached at its new port")
    moved = f"{mac('a2').replace(':', '')} is on port {TRUNK} in VLAN 10"
    check(moved in controller.output.read_text(), "its move is learnt")

    check(reaches(hosts["a1"], "a2", 2), "a1 is learnt at its port")
    hosts["a1"].run("ip", "link", "set", "eth0", "down")
    down = f"port {PORT['a1']} is down: 1 addresses are forgotten"
    wait_until(lambda: down in controller.output.read_text(), "the addresses of a port whose link is down are forgotten")
    hosts["a1"].run("ip", "link", "set", "eth0", "up")
    check(reaches(hosts["a1"], "a2", 5), "a link is down and up again: its station is learnt again")

    controller = start_again(bridges["a"], controller, hosts["a3"], ADDRESS["b2"])
    time.sleep(1)
    forgotten = f"{mac('a3').replace(':', '')} in VLAN 20 is forgotten"
    wait_until(lambda: forgotten in controller.output.read_text(), f"an address is forgotten after {AGE} s", AGE + 10)
    check(reaches(hosts["a3"], "b2", 2), "a forgotten station is learnt again")

    file.write_text(settings("a", blocked=("a3",)))
    controller.send_signal(signal.SIGHUP)
    wait_until(lambda: controller.output.read_text().count("ports,") == 2, "control.py has read its file again")
    check(not reaches(hosts["a3"], "b2"), "a blocked port takes nothing")
    check(reaches(hosts["a1"], "a2", 2), "others do")
    trunk.stop()
    trunk.check_well_formed("trunk", only="vlan")
    tagged = {int(row[0]) for row in trunk.fields("vlan", "vlan.id")}
    check(tagged == {10, 20} and trunk.count("ip and not vlan") == 0, "all frames on the trunk have a tag")

    file.write_text(settings("a").replace("untagged = 10", "untagged = 5000"))
    controller.send_signal(signal.SIGHUP)
    wait_until(lambda: "nothing is changed" in controller.output.read_text(), "a wrong file is told of")
    check(reaches(hosts["a1"], "a2", 2) and controller.poll() is None, "a wrong file changes nothing")

    stop(controller)
    check(reaches(hosts["a1"], "a2", 2), "without the controller known stations are still reached")
    totals = statistics(switch)["totals"]
    check(totals["digests_lost"] == 0, f"no digest is lost: {totals}")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", "ping", "ss"))
