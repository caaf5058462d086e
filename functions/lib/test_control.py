#!/usr/bin/env python3
"""The errors of the control programs about wrong files, an absent switch, an absent command: one line each. Needs
finsy."""

import argparse
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FUNCTIONS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FUNCTIONS / "lib"))
import forms
from bed import Failed, check, has_finsy

ZONES = "".join(f'[[zone]]\nname = "{number}"\ninterface = []\n\n' for number in range(252))
UPF_ROUTES = 'prefix = "192.168.3.0/24"\nnext_hop = 1\n\n[[route]]\nprefix = "0.0.0.0/0"'
SERVICE = '[[service]]\naddress = "198.51.100.10"\nprotocol = "tcp"\nport = 81\nbackends = [1]\n\n'
COLLECTOR = (
    '[[collector]]\nnumber = 2\nport = 4\nsource_mac = "02:00:00:00:00:01"\nmac = "02:00:00:00:00:c0"\n'
    'source = "192.168.0.1"\naddress = "192.168.0.192"\n\n'
)
# Function, its file, a part of that, its replacement, and the error that must follow.
WRONG = [
    ("l2_switch", "bridge.toml", "untagged = 20", "untagged = 5000", "port: number 3: `untagged = 5000`: a number from 1 to 4094"),
    ("l2_switch", "bridge.toml", "addresses_max = 100", "adresses_max = 100", "did you mean `addresses_max`?"),
    ("l2_switch", "bridge.toml", "number = 1\n", "", "the key `number` is missing"),
    ("l2_switch", "bridge.toml", "number = 1\n", "number = 511\n", "port: number 1: `number = 511`: a number from 0 to 510"),
    ("l2_switch", "bridge.toml", "number = 1\n", "number = 510\n", "port 510 is that of the controller"),
    ("l2_switch", "bridge.toml", "[[static]]", "[static]", "static: tables are right"),
    ("l2_switch", "bridge.toml", "age = 300", "age = ", "no TOML"),
    ("nat44", "nat44.toml", "block_ports = 512", "block_ports = 500", "`block_ports = 500`"),
    ("nat44", "nat44.toml", "block_ports = 512", "block_ports = 512.0", "`block_ports = 512.0`: `2`"),
    ("nat44", "nat44.toml", 'filtering = "any"', 'filtering = "adress"', "did you mean `address`?"),
    ("nat44", "nat44.toml", "10.0.0.0/8", "10.0.0.1/8", "an IPv4 prefix without bits behind its length"),
    ("firewall", "firewall.toml", 'do = "reject"', 'do = "rejct"', "rule: number 2: `do = \"rejct\"`"),
    ("firewall", "firewall.toml", 'from = "inside"', 'from = "insid"', "there is no zone `insid`"),
    ("firewall", "firewall.toml", 'do = "allow"\n\n[[policy]]', 'do = "allow"\nrate = 800\n\n[[policy]]', "`rate`"),
    ("firewall", "firewall.toml", "connections = 1000\nburst = 2000", "connections = 1\nburst = 5000", "at most 4295"),
    ("firewall", "firewall.toml", "[[route]]", f"{ZONES}[[route]]", "255 zones: at most 254 are right"),
    ("load_balancer", "load_balancer.toml", "backends = [1, 2, 3]", "backends = [1, 2, 4]", "there is no back end 4"),
    ("load_balancer", "load_balancer.toml", 'mode = "mac"', 'mode = "ipip6"', "did you mean `ipip`?"),
    ("router", "router.toml", "10.1.0.1/24", "10.1.0.256/24", "an address with the length of its prefix"),
    ("int", "node.toml", '"queue"', '"queues"', "did you mean `queue`?"),
    ("int", "node.toml", "number = 1", "number = 256", "a number from 1 to 255"),
    ("upf", "upf.toml", 'gnb = "192.168.3.2"', 'gnb = "2001:db8::1"', "no address of `own` is of the version"),
    ("upf", "upf.toml", UPF_ROUTES, UPF_ROUTES.replace("192.168.3.0", "192.168.4.0").replace("0.0.0.0/0", "203.0.113.0/24"),
     "session 1: no route leads to its gNB 192.168.3.2"),
    ("upf", "upf.toml", "port = 1\n", "port = 510\n", "next hop 1: port 510 is that of the controller"),
    ("upf", "upf.toml", "2001:db8:45::/64", "2001:db8:45::/56", "an IPv6 prefix of 64 bits"),
    ("upf", "upf.toml", "2001:db8:45::/64", "10.46.0.0/24", "an IPv6 prefix of 64 bits"),
    ("upf", "upf.toml", "number = 2", "number = 1", "two next hops 1"),
    ("upf", "upf.toml", 'address = "192.168.3.1"', 'address = "fe80::1%eth0"', "an address"),
    ("upf", "upf.toml", '"::/0"', '"::/00"', "a prefix"),
    ("l2_switch", "bridge.toml", "age = 300", "age = inf", "a number from 0 to 1,000,000"),
    ("l2_switch", "bridge.toml", "age = 300", "age = nan", "a number from 0 to 1,000,000"),
    ("l2_switch", "bridge.toml", "number = 2", "number = 1", "two ports 1"),
    ("l2_switch", "bridge.toml", "tagged = [10, 20]", "tagged = [10, 20]\nuntagged = 20", "two memberships of port 4 in VLAN 20"),
    ("l2_switch", "bridge.toml", "port = 4", "port = 3", "port 3 is not in VLAN 10"),
    ("nat44", "nat44.toml", '"10.0.0.0/8"\nport', '"10.0.0.0/255.0.0.0"\nport', "an IPv4 prefix"),
    ("nat44", "nat44.toml", '"203.0.113.1", ', '"0.0.0.0/0", ', "at most 1,365"),
    ("nat44", "nat44.toml", '"203.0.113.1", ', '"198.18.0.0/21", ', "2,050 addresses: at most 1,365"),
    ("nat44", "nat44.toml", '"203.0.113.4/31"', '"203.0.113.0/31"', "two places in pools for the address 203.0.113.1"),
    ("nat44", "nat44.toml", '["203.0.113.1", "203.0.113.4/31"]', "[]", "`addresses` is empty"),
    ("nat44", "nat44.toml", "port = 1\npeer_mac", "port = 7\npeer_mac", "port 7 is no interface"),
    ("nat44", "nat44.toml", "203.0.113.1:80", "203.0.113.1:+80", "an address and a port"),
    ("nat44", "nat44.toml", "203.0.113.1:80", "192.0.2.1:80", "the external address of 192.0.2.1:80 is in no pool"),
    ("firewall", "firewall.toml", 'do = "reject"', 'do = "reject"\nrate = 800', "`rate` has an effect with `allow` alone"),
    ("firewall", "firewall.toml", "connections = 1000\n", "", "`burst` needs the key `connections`"),
    ("firewall", "firewall.toml", 'do = "allow"', 'do = "allow"\nlog = true', "`log` has an effect with `deny` and `reject` alone"),
    ("firewall", "firewall.toml", 'name = "web"', 'source = []', "no version of IP in common"),
    ("firewall", "firewall.toml", 'protocol = "tcp"', 'protocol = "icmp"', "`port` and `source_port` have an effect with `tcp` and `udp` alone"),
    ("firewall", "firewall.toml", '"80-81"', '" 80 - 81"', "a port or a range"),
    ("firewall", "firewall.toml", 'name = "outside"', 'name = "inside"', "two zones inside"),
    ("firewall", "firewall.toml", 'to = ["servers"]', 'to = ["servers", "servers"]', "two policies from outside to servers"),
    ("load_balancer", "load_balancer.toml", "weight = 2", "weight = inf", "a number from 0 to 1,000"),
    ("load_balancer", "load_balancer.toml", 'tunnel_source = "10.1.0.1"', 'tunnel_source_ipv6 = "10.1.0.1"', "an IPv6 address"),
    ("load_balancer", "load_balancer.toml", "next_hop = 1\n", "next_hop = 7\n", "there is no next hop 7"),
    ("load_balancer", "load_balancer.toml", "number = 2", "number = 1", "two back ends 1"),
    ("load_balancer", "load_balancer.toml", "[[service]]", f"{SERVICE}[[service]]", "answers for 198.51.100.10 tcp 81 and"),
    ("load_balancer", "load_balancer.toml", 'address = "10.1.0.11"', 'address = "fd00::1"', "of the version of its service"),
    ("int", "node.toml", "collector = 1\nport", "collector = 2\nport", "watch: number 1: there is no collector 2"),
    ("int", "node.toml", "[[collector]]", f"{COLLECTOR}[[collector]]", "collectors 2 and 1 are both 192.168.0.192:32768"),
    ("int", "node.toml", 'mode = "xd"', 'mode = "xd"\nmax_hops = 8', "`max_hops` is for"),
    ("int", "node.toml", '"fd00::/64"', '"fd00::/64"\nipv6 = false', "of one version of IP"),
    ("int", "node.toml", "snap = 256", "snap = 961", "a number from 0 to 960"),
    ("router", "router.toml", "host_port = 102", "host_port = 1", "two interfaces with the port 1"),
]  # fmt: skip


# Function, its file, an option, a value, and the error that must follow.
WRONG_OPTIONS = [
    ("upf", "upf.toml", "--usage", "-1", "a number from 0 to 1,000,000"),
    ("upf", "upf.toml", "--echo", "nan", "a number from 0 to 1,000,000"),
    ("load_balancer", "load_balancer.toml", "--check", "0", "a number from 0.1 to 1,000,000"),
    ("load_balancer", "load_balancer.toml", "--pin-idle", "inf", "a number from 1 to 1,000,000"),
    ("load_balancer", "load_balancer.toml", "--slots", "4092", "a prime from 3 to 65521"),
    ("load_balancer", "load_balancer.toml", "--slots", "65537", "a prime from 3 to 65521"),
]


def keys(form):
    """The keys of a form, and of the tables in it."""
    for key, kind in form.kinds.items():
        yield key
        inner = [kind, *(cell.cell_contents for cell in getattr(kind, "__closure__", None) or ())]
        for one in inner:
            if isinstance(one, forms.Form):
                yield from keys(one)


def unnamed(path):
    """The keys that a function's file may have and its example, which explains them, does not name."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_control", path.parent / "control.py")
    program = importlib.util.module_from_spec(spec)
    # Some have modules of their own beside them.
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(program)
    text = path.read_text()
    return sorted({key for key in keys(program.FORM) if not re.search(rf"\b{key}\b", text)})


def run(function, *words, **environment):
    """What a control program says, and its exit code. No switch listens at port 1."""
    words = [sys.executable, FUNCTIONS / function / "control.py", *words, "--grpc", "127.0.0.1:1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
    return (done.stdout + done.stderr).strip(), done


def said(function, file, **environment):
    """The error of a control program."""
    text, done = run(function, file, **environment)
    if done.returncode != 1 or "\n" in text:
        raise Failed(f"{function}: exit code {done.returncode} and\n{text}")
    return text


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("lib:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if not has_finsy():
                return 0
            for path in sorted({FUNCTIONS / function / name for function, name, *_ in WRONG}):
                found = unnamed(path)
                check(not found, f"{path.parent.name}: {path.name} explains every key {found or ''}".rstrip())
            for function, name, right, wrong, wanted in WRONG:
                text = (FUNCTIONS / function / name).read_text()
                if right not in text:
                    raise Failed(f"{function}/{name} has no `{right}`")
                file = pathlib.Path(folder) / name
                file.write_text(text.replace(right, wrong, 1))
                line = said(function, file)
                check(wanted in line, f"{function}: {line}")
            for function, name, option, value, wanted in WRONG_OPTIONS:
                text, done = run(function, FUNCTIONS / function / name, option, value)
                line = text.splitlines()[-1]
                check(done.returncode == 2 and f"argument {option}" in line and wanted in line, f"{function}: {line}")
            bridge = FUNCTIONS / "l2_switch/bridge.toml"
            check("No such file" in said("l2_switch", f"{folder}/none.toml"), "no file")
            check("no switch answers" in said("l2_switch", bridge), "no switch")
            check("$FOREBAY" in said("l2_switch", bridge, FOREBAY=f"{folder}/none"), "no forebay")
        except Failed as error:
            print(f"  FAILED: {error}", flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
