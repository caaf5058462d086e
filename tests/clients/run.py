#!/usr/bin/env python3
"""Runs controllers that others wrote against `forebay run --grpc`.

    tests/clients/run.py [--strict] [CLIENT...]         # FOREBAY=PATH: with this executable

Each client gets a virtual environment in target/clients and runs in a network namespace of its own. A client that
cannot run here (no PyPI, no root, a missing command) is skipped with a message; with --strict that is a failure. A
client that fails is tried once more, also with a message, since some wait for a fixed time however busy the machine is.
After a second failure the exit code is 1.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENTS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "clients"

# The Python package of this repository: `make python` or `make wheel` builds it.
WHEEL = "forebay's wheel (make python)"

# Script, and what it needs from PyPI.
CLIENTS = {
    "shell": ["p4runtime-shell==0.0.6"],
    "finsy": ["finsy==0.30"],
    "ptf": ["ptf==0.12.0", "p4runtime-shell==0.0.6", "scapy"],
    "ptf_packets": ["six", WHEEL],
    "p4net": ["p4net==1.8"],
    "ctl": [],
    "live_view": [],
    "programs": ["finsy==0.30"],
    "gnmi": ["finsy==0.30"],
    "pygnmi": ["pygnmi==0.8.15"],
    "tls": ["p4runtime==1.4.1", "protobuf==3.20.3"],
    "compressed": ["p4runtime==1.4.1", "protobuf==3.20.3"],
    "grants": ["p4runtime==1.4.1", "protobuf==3.20.3"],
    "tutorial": [
        "p4runtime==1.4.1",
        "protobuf==3.20.3",
        "grpcio-health-checking==1.48.2",
        "grpcio-reflection==1.48.2",
    ],
    "thrift": ["thriftpy2==0.7.1", "pynng==0.9.0"],
    "snappi": ["snappi==1.62.0"],
    "baselines": ["os-ken==4.2.2"],
    "devices": [],
    "together": ["p4runtime==1.4.1", "protobuf==3.20.3", "thriftpy2==0.7.1"],
    "soak": ["p4runtime==1.4.1", "protobuf==3.20.3"],
    "state_soak": ["p4runtime==1.4.1", "protobuf==3.20.3"],
    "siege": ["p4runtime==1.4.1", "protobuf==3.20.3"],
    "random_calls": ["p4runtime==1.4.1", "protobuf==3.20.3"],
}

# Packages that are installed without their dependencies: ptf depends on scapy.
ALONE = {"ptf_packets": ["ptf==0.12.0"]}

# Commands that a script calls, and Debian's packages that have them.
COMMANDS = {
    "p4net": {"ping": "iputils-ping"},
    "snappi": {"ping": "iputils-ping"},
    "baselines": {"cc": "gcc libc6-dev", "ethtool": "ethtool", "ovs-vswitchd": "openvswitch-switch"},
    "devices": {"ethtool": "ethtool", "ip": "iproute2"},
}


def environment(client):
    """The Python of a client's virtual environment, or None when it cannot be made."""
    folder = ENVIRONMENTS / client
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    print(f"{client}: making {folder}", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", str(folder)]).returncode != 0:
        return None
    if not CLIENTS[client]:
        return python
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
    installs = [packages(client), ["--no-deps", *ALONE[client]]] if client in ALONE else [packages(client)]
    for wanted in installs:
        if subprocess.run([*pip, "install", "-q", *wanted]).returncode != 0:
            return None
    # A wheel of the same version may be another one next time.
    if WHEEL not in CLIENTS[client]:
        (folder / "complete").touch()
    return python


def packages(client):
    """The packages for pip; of the wheels that were built here, the newest."""
    wheels = [path for name in ("wheels", "python-wheel") for path in (ENVIRONMENTS.parent / name).glob("*.whl")]
    newest = max(wheels, key=lambda path: path.stat().st_mtime, default=None)
    found = {WHEEL: ["--force-reinstall", str(newest)]} if newest else {}
    return [word for package in CLIENTS[client] for word in found.get(package, [package])]


def forebay():
    """The program under test."""
    given = os.environ.get("FOREBAY")
    if given:
        return given
    subprocess.run(["cargo", "build", "--quiet", "--package", "forebay-cli"], cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return f"{target}/debug/forebay"


def namespaces():
    """Whether network namespaces can be made here."""
    made = subprocess.run(["unshare", "--net", "--mount", "true"], stderr=subprocess.DEVNULL)
    return made.returncode == 0


def passes(words, seconds):
    """Whether a test ends well, and in time."""
    try:
        return subprocess.run(words, env={**os.environ, "FOREBAY": FOREBAY}, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"  no end after {seconds} s", flush=True)
        return False


def run(client):
    script = HERE / f"{client}_client.py"
    if not namespaces():
        return f"{client}: skipped: network namespaces cannot be made; be root"
    missing = [package for command, package in COMMANDS.get(client, {}).items() if not shutil.which(command)]
    if missing:
        return f"{client}: skipped: install {' '.join(missing)}"
    python = environment(client)
    if python is None:
        needed = " ".join(CLIENTS[client])
        return f"{client}: skipped: python3-venv is missing, PyPI cannot be reached, or it has not {needed}"
    words = ["unshare", "--net", "--mount", str(python), str(script)]
    for result in ["passed", "passed at the second attempt"]:
        print(f"{client}:", flush=True)
        if passes(words, seconds=3600 if client.endswith("soak") else 300):
            return f"{client}: {result}"
    return f"{client}: FAILED"


wanted = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
wanted.add_argument("clients", metavar="CLIENT", nargs="*", choices=[[], *CLIENTS], help=", ".join(CLIENTS))
wanted.add_argument("--strict", action="store_true", help="what cannot be tested here is a failure")
arguments = wanted.parse_args()
clients = arguments.clients or CLIENTS
if arguments.strict:
    # Read by `skip` in testbed.py.
    os.environ["FOREBAY_STRICT"] = "1"
FOREBAY = forebay()
results = [run(client) for client in clients]
print("\n".join(results))
failures = [result for result in results if result.endswith("FAILED") or (arguments.strict and ": skipped: " in result)]
sys.exit(bool(failures))
