#!/usr/bin/env python3
"""The errors of the control programs about wrong files, an absent switch, an absent command: one line each. Needs
finsy."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

FUNCTIONS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FUNCTIONS / "lib"))
from bed import Failed, check, has_finsy

ZONES = "".join(f'[[zone]]\nname = "{number}"\ninterface = []\n\n' for number in range(252))
UPF_ROUTES = 'prefix = "192.168.3.0/24"\nnext_hop = 1\n\n[[route]]\nprefix = "0.0.0.0/0"'
# Function, its file, a part of that, its replacement, and the error that must follow.
WRONG = [
    ("l2_switch", "bridge.toml", "untagged = 20", "untagged = 5000", "port: number 3: `untagged = 5000`: a number from 1 to 4094"),
    ("l2_switch", "bridge.toml", "addresses_max = 100", "adresses_max = 100", "did you mean `addresses_max`?"),
    ("l2_switch", "bridge.toml", "number = 1\n", "", "the key `number` is missing"),
    ("l2_switch", "bridge.toml", "[[static]]", "[static]", "static: tables are right"),
    ("l2_switch", "bridge.toml", "age = 300", "age = ", "no TOML"),
    ("nat44", "nat44.toml", "block_ports = 512", "block_ports = 500", "`block_ports = 500`"),
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
]  # fmt: skip


def said(function, file, **environment):
    """The error of a control program. No switch listens at port 1."""
    words = [sys.executable, FUNCTIONS / function / "control.py", file, "--grpc", "127.0.0.1:1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
    text = (done.stdout + done.stderr).strip()
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
            for function, name, right, wrong, wanted in WRONG:
                text = (FUNCTIONS / function / name).read_text()
                if right not in text:
                    raise Failed(f"{function}/{name} has no `{right}`")
                file = pathlib.Path(folder) / name
                file.write_text(text.replace(right, wrong, 1))
                line = said(function, file)
                check(wanted in line, f"{function}: {line}")
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
