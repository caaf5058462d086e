#!/usr/bin/env python3
"""The Debian package in a fresh Debian 12: it is installed, a function runs as its unit says and passes traffic, an
upgrade keeps its state, and purging leaves nothing. Needs root, mmdebstrap, lintian.

    h1 10.0.0.1 -- 1 [portfwd, in the fresh system] 2 -- h2 10.0.0.2
"""

import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import tree as system
from bed import Failed, arguments, check, main, stop, wait_until

NAME = "portfwd"
SOCKET = f"unix:/run/forebay-{NAME}/grpc"
CONFIGURATION = f"""
program = "/usr/share/forebay/programs/portfwd/portfwd.p4"
interfaces = ["1@p1", "2@p2"]
grpc = "{SOCKET}"
save-state = "/var/lib/forebay/{NAME}"
"""


def check_lintian(package):
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", package], capture_output=True, text=True
    )
    check(done.returncode == 0, f"lintian has no errors and no warnings {done.stdout.strip()[-500:]}".rstrip())


def check_exposure(tree):
    """Checks the rights of each service, by systemd's exposure level from 0 to 10."""
    units = sorted((tree.folder / "lib/systemd/system").glob("forebay*.service"))
    check(len(units) == 4, f"there are {', '.join(unit.name for unit in units)}")
    for unit in units:
        is_told = "\nAssertPathExists=/etc/forebay/%i." in unit.read_text()
        check(is_told, f"systemctl start of {unit.name} for a name without its file fails, and is not passed over")
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", unit], capture_output=True, text=True)
        found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
        said = f"{found[1] if found else done.stderr}, below 2.5"
        check(found and float(found[1]) < 2.5, f"systemd-analyze security {unit.name}: {said}")


def check_collector(tree, namespace):
    """The collector runs with the command line of its unit, and serves metrics."""
    (tree.folder / "etc/forebay/all.collect").write_text("OPTIONS=--metrics 127.0.0.1:9101\n")
    unit = system.Unit(tree, "all", "forebay-collect")
    unit.make_folders()
    process = namespace.start(*tree.words(*unit.words()), name="collect")
    ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9101/metrics').read().decode())"
    wait_until(lambda: "forebay_collect" in namespace.run(sys.executable, "-c", ask, check=False), "the collector's metrics")
    check(process_status(process)["CapEff"].strip("0") == "", "the collector runs as its unit says, without capabilities")
    stop(process)


def newer(package, folder):
    """The same package with a higher version."""
    contents, made = folder / "contents", folder / "newer.deb"
    subprocess.run(["dpkg-deb", "-R", package, contents], check=True)
    control = contents / "DEBIAN/control"
    version = re.search(r"^Version: (.*)$", control.read_text(), re.M)[1]
    control.write_text(control.read_text().replace(f"Version: {version}\n", f"Version: {version}+upgrade\n"))
    words = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", contents, made]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(contents)
    return made


def start(tree, unit, namespace):
    """Starts the function with the command line of its unit, and waits as systemd does for a unit of the type
    `notify`."""
    check(unit.values["Type"] == "notify", "systemd waits until the function says that it has started")
    place = tree.folder / "run/notify"
    place.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(place))
        place.chmod(0o777)
        manager.settimeout(1)
        process = namespace.start(*tree.words("env", "NOTIFY_SOCKET=/run/notify", *unit.words()), name="forebay")
        wait_until(lambda: process.poll() is not None or said(manager), "the function starts")
    if process.poll() is not None:
        raise Failed(f"the function ends: {process.output.read_text()[-800:]}")
    return process


def said(manager):
    """Whether the function has said that it has started and carries traffic."""
    try:
        return manager.recv(4096).decode().split("\n") == ["READY=1", "STATUS=ready"]
    except TimeoutError:
        return False


def process_status(process):
    """Lines of /proc/PID/status by their names."""
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def ctl(tree, *words):
    return tree.run("forebay", "ctl", "--grpc", SOCKET, *words)


def test(bed, options):
    package = options.file.resolve()
    check_lintian(package)
    switch = bed.namespace("switch")
    one = bed.host("h1", "eth0", switch, "p1", "10.0.0.1/24")
    bed.host("h2", "eth0", switch, "p2", "10.0.0.2/24")
    with system.Tree(bed.folder) as tree:
        before = tree.files()
        started = time.monotonic()
        tree.install(package)
        print(f"  installed in {time.monotonic() - started:.0f} s")
        check_exposure(tree)
        for words in (
            ["forebay", "--version"],
            ["forebay", "function", "list"],
            ["forebay", "experiment", "run", "table-2", "--quick"],
            ["forebay", "test", "--quiet", "--all", "/usr/share/forebay/programs/portfwd"],
        ):
            tree.run(*words)
            check(True, f"`{' '.join(words)}` in the fresh system")
        (tree.folder / f"etc/forebay/{NAME}.toml").write_text(CONFIGURATION)
        unit = system.Unit(tree, NAME)
        unit.make_folders()
        process = start(tree, unit, switch)
        check_rights(process)
        check(not one.succeeds("ping", "-c", "1", "-W", "1", "10.0.0.2"), "without entries nothing passes")
        for port, other in ((1, 2), (2, 1)):
            ctl(
                tree,
                "table",
                "add",
                "ports",
                f"standard_metadata.ingress_port={port}",
                "do",
                "forward",
                f"port={other}",
            )
        one.run("ping", "-c", "3", "-i", "0.2", "10.0.0.2")
        check(True, "pings pass the function that runs as its unit says")
        stop(process)
        tree.install(newer(package, bed.folder))
        (tree.folder / "run" / f"forebay-{NAME}" / "grpc").unlink(missing_ok=True)
        process = start(tree, unit, switch)
        one.run("ping", "-c", "3", "-i", "0.2", "10.0.0.2")
        check(True, "after an upgrade the entries are there again")
        stop(process)
        check_collector(tree, switch)
        tree.apt("purge", "forebay")
        check_nothing_stays(before, tree.files())


def check_rights(process):
    status = process_status(process)
    user = status["Uid"].split()[0]
    check(user != "0", f"it is user {user}, not root")
    allowed = 1 << 12 | 1 << 13 | 1 << 39
    effective = int(status["CapEff"], 16)
    check(
        effective & ~allowed == 0 and effective,
        f"its capabilities are {effective:#x}: NET_ADMIN, NET_RAW, BPF and no other",
    )
    check(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", "no new privileges, system calls are filtered")


def check_nothing_stays(before, after):
    more = sorted(after.keys() - before.keys())
    less = sorted(before.keys() - after.keys())
    different = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    check(
        not more and not less and not different,
        f"purging leaves no trace {(more, less, different) if more or less or different else ''}".rstrip(),
    )


if __name__ == "__main__":
    parser = arguments()
    parser.add_argument("file", type=pathlib.Path, metavar="PACKAGE.deb")
    options = parser.parse_args()
    sys.exit(main(test, "mmdebstrap", "lintian", "setpriv", options=options))
