#!/usr/bin/env python3
"""What control programs do when a switch refuses their file, and when it ends. Needs root and finsy.

A file is read again whose entries are more than a table has room for. Nothing is changed, and the program goes on: the
first file is written again without a difference.
"""

import pathlib
import re
import signal
import sys

FUNCTIONS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FUNCTIONS / "lib"))
from bed import FOREBAY, check, has_finsy, main, stop, wait_until

UNCHANGED = "0 new entries, 0 changed, 0 removed"


def own_addresses():
    return "".join(
        f'[[own]]\naddress = "10.0.{number}.1"\nmac = "02:00:00:00:00:01"\ngtpu = false\n\n' for number in range(65)
    )


def wide_rule():
    sources, destinations = ([f"{side}.{number}.0.0/16" for number in range(130)] for side in (20, 30))
    return f'[[rule]]\nname = "wide"\ndo = "deny"\nsource = {sources}\ndestination = {destinations}\n\n'


def watches():
    return "".join(
        f'[[watch]]\nmode = "xd"\ninstructions = ["ports"]\ncollector = 1\ndestination_port = {port}\n\n'
        for port in range(1, 4098)
    )


def trunks():
    """Ports in all VLANs: more updates than one write takes, so that the first ones are taken back."""
    return "".join(f"[[port]]\nnumber = {port}\ntagged = {[*range(1, 4095)]}\n\n" for port in range(10, 27))


def services():
    return "".join(
        f'[[service]]\naddress = "198.51.100.10"\nprotocol = "udp"\nport = {port}\nbackends = []\n\n'
        for port in range(1, 4098)
    )


def another_pool():
    return '[[pool]]\ninside = "172.16.0.0/12"\naddresses = ["203.0.113.9"]\n\n'


# Function, its file, what is added before which table of it, and what the program says.
REFUSED = [
    ("firewall", "firewall.toml", wide_rule, "[[rule]]", "rules_ipv4` is full"),
    ("int", "node.toml", watches, "[[wire]]", "watch_ipv4` is full"),
    ("l2_switch", "bridge.toml", trunks, "[[port]]", "members` is full"),
    ("load_balancer", "load_balancer.toml", services, "[[service]]", "services_ipv4` is full"),
    ("nat44", "nat44.toml", another_pool, "[[pool]]", "the number of addresses in pools"),
    ("upf", "upf.toml", own_addresses, "[[own]]", "arp_ipv4` is full"),
]


def entries(switch):
    """All entries, in words, without the time that they have been idle."""
    lines = switch.run(FOREBAY, "ctl", "table", "dump").splitlines()
    return sorted(re.sub(r" *[0-9]+ms$", "", line) for line in lines)


def test_function(bed, switch, function, name, more, place, wanted):
    process = bed.switch(switch, None, {1: "p1"}, None, "--grpc")
    file = bed.folder / name
    right = (FUNCTIONS / function / name).read_text()
    file.write_text(right)
    controller = switch.start(sys.executable, FUNCTIONS / function / "control.py", file, name=f"control-{function}")

    def said(since=0):
        return controller.output.read_text()[since:]

    def reads(text, what):
        """Has the program read this file again, until it has said so."""
        since = len(said())
        file.write_text(text)
        controller.send_signal(signal.SIGHUP)
        wait_until(lambda: what in said(since) or controller.poll() is not None, f"{function} says `{what}`", 120)
        return said(since).strip()

    wait_until(lambda: "new entries" in said() or controller.poll() is not None, f"{function} is set up", 60)
    before = entries(switch)
    line = reads(right.replace(place, f"{more()}{place}", 1), "nothing is changed")
    check(wanted in line and controller.poll() is None, f"{function}: {line}")
    check(entries(switch) == before, f"{function}: every entry is as before")
    line = reads(right, UNCHANGED)
    check(controller.poll() is None, f"{function}: the first file is read again: {line}")
    since = len(said())
    stop(process)
    wait_until(lambda: controller.poll() is not None, f"{function}: control.py ends with the switch", 20)
    check(controller.returncode == 1 and "has ended the connection" in said(since), f"{function}: {said(since).strip()}")


def test(bed):
    if not has_finsy():
        return
    switch = bed.namespace("switch")
    bed.host("host", "eth0", switch, "p1")
    for one in REFUSED:
        test_function(bed, switch, *one)


if __name__ == "__main__":
    sys.exit(main(test))
