#!/usr/bin/env python3
"""Two virtual machines on a switch over vhost-user: pings, TCP, restarts of either side.

    tests/guests/run.py [--forebay target/release/forebay] [--restarts 10] [--seconds 5]

    guest 10.0.0.1 ═ vhost-user ═ forebay (programs/portfwd) ═ vhost-user ═ guest 10.0.0.2
              split rings                                     packed rings

The guests are Debian's kernel for virtual machines and a file system of busybox and iperf3, made here from the packages
of this machine (no root, no image, no network in the guests). QEMU interprets their processor (TCG), so that no rights
are needed; speeds mean nothing. Commands go to each guest over its serial line.

Needs qemu-system-x86, busybox-static, iperf3, cpio, and apt-get to fetch the kernel once into target/guests.
"""

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / "target/guests"
PROGRAM = ROOT / "programs/portfwd/portfwd.p4"
ENTRIES = ROOT / "programs/portfwd/entries.stf"
MODULES = ["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "failover", "net_failover", "virtio_net"]
BOOT_PATIENCE = 240.0
# A port keeps a few hundred kilobytes for a guest: what ten restarts may add is less than one of them leaking.
MOST_GROWTH_KIB = 256
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in MODULES; do insmod /modules/$module.ko; done
address=$(sed 's/.*address=\\([^ ]*\\).*/\\1/' /proc/cmdline)
ip link set lo up
ip addr add $address/24 dev eth0
ip link set eth0 up
iperf3 --server --daemon
echo ready-for-work
exec setsid cttyhack sh
"""


class Failed(Exception):
    """The test has failed; the text says how."""


def kernel():
    """Debian's kernel for virtual machines, and its modules."""
    CACHE.mkdir(parents=True, exist_ok=True)
    found = list(CACHE.glob("boot/vmlinuz-*"))
    if not found:
        depends = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], check=True, capture_output=True, text=True)
        package = re.search(r"Depends: (\S+)", depends.stdout).group(1)
        subprocess.run(["apt-get", "download", "-qq", package], check=True, cwd=CACHE)
        subprocess.run(["dpkg-deb", "-x", next(CACHE.glob("linux-image-*.deb")), CACHE], check=True)
        found = list(CACHE.glob("boot/vmlinuz-*"))
    return found[0]


def file_system():
    """An initial file system with busybox, iperf3 and the drivers of virtio-net."""
    made = CACHE / "initramfs.gz"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("bin", "dev", "proc", "sys", "modules", "tmp"):
            (root / name).mkdir()
        shutil.copy(shutil.which("busybox"), root / "bin/busybox")
        iperf3 = shutil.which("iperf3")
        shutil.copy(iperf3, root / "bin/iperf3")
        listed = subprocess.run(["ldd", iperf3], check=True, capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", listed):
            (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library[1:])
        for module in MODULES:
            shutil.copy(next(CACHE.glob(f"lib/modules/**/{module}.ko")), root / "modules")
        (root / "init").write_text(INIT.replace("MODULES", " ".join(MODULES)))
        (root / "init").chmod(0o755)
        names = subprocess.run(["find", "."], check=True, capture_output=True, cwd=root).stdout
        archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], check=True, capture_output=True, cwd=root, input=names)
        made.write_bytes(gzip.compress(archive.stdout, 1))
    return made


class Guest:
    """A virtual machine with one network card."""

    def __init__(self, name, address, socket, folder, options=""):
        self.log = Path(folder) / f"{name}.log"
        self.output = open(self.log, "w")
        command = ["qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "1", "-m", "256"]
        command += ["-object", "memory-backend-memfd,id=memory,size=256M,share=on", "-numa", "node,memdev=memory"]
        command += ["-kernel", kernel(), "-initrd", file_system(), "-append", f"console=ttyS0 quiet address={address}"]
        command += ["-chardev", f"socket,id=switch,path={socket},reconnect=1", "-netdev", "vhost-user,id=card,chardev=switch"]
        command += ["-device", f"virtio-net-pci,netdev=card,mac=02:00:00:00:00:0{address[-1]},vectors=0{options}"]
        command += ["-display", "none", "-nodefaults", "-serial", "stdio", "-no-reboot"]
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=self.output, stderr=subprocess.STDOUT, text=True
        )

    def expect(self, pattern, patience, since=0):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            found = re.search(pattern, self.log.read_text(errors="replace")[since:])
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise Failed(f"no `{pattern}` from a guest within {patience} s:\n{self.log.read_text(errors='replace')[-2500:]}")

    def run(self, command, patience=60.0):
        """What a command prints."""
        since = len(self.log.read_text(errors="replace"))
        self.process.stdin.write(f"{command}; echo done-$((20+22))\n")
        self.process.stdin.flush()
        self.expect("done-42", patience, since)
        return self.log.read_text(errors="replace")[since:]

    def wait_ready(self):
        self.expect("ready-for-work", BOOT_PATIENCE)
        time.sleep(0.5)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.output.close()


def start_switch(arguments, folder):
    ports = [word for i in (1, 2) for word in ("-i", f"{i}@vhost:{folder}/{i}.sock")]
    command = [arguments.forebay, "run", PROGRAM, *ports, "--entries", ENTRIES]
    log = open(Path(folder) / "switch.log", "a")
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 30
    while not all((Path(folder) / f"{i}.sock").exists() for i in (1, 2)):
        if time.monotonic() > deadline or process.poll() is not None:
            raise Failed(f"the switch does not start:\n{Path(log.name).read_text()[-2000:]}")
        time.sleep(0.05)
    return process


def stop_switch(process, with_signal="terminate"):
    getattr(process, with_signal)()
    process.wait(20)


def ping(guest, patience=60.0):
    """Pings until an answer comes, then five times more, all of which must be answered."""
    deadline = time.monotonic() + patience
    while "1 packets received" not in guest.run("ping -c 1 -W 1 10.0.0.2"):
        if time.monotonic() > deadline:
            raise Failed("the guests do not reach each other")
    answer = guest.run("ping -c 5 -i 0.2 -W 5 10.0.0.2")
    if "5 packets received" not in answer:
        raise Failed(f"a ping was lost:\n{answer}")


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def mappings(process):
    return sum(1 for line in open(f"/proc/{process.pid}/maps") if "memfd" in line)


def own_memory(process):
    """KiB of resident memory that is not the guests'."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1])


def check(arguments, folder):
    switch = start_switch(arguments, folder)
    sockets = [f"{folder}/{i}.sock" for i in (1, 2)]
    first = Guest("first", "10.0.0.1", sockets[0], folder)
    second = Guest("second", "10.0.0.2", sockets[1], folder, arguments.second_card)
    guests = [first, second]
    try:
        for guest in guests:
            guest.wait_ready()
        ping(first)
        print("ping: 5 of 5")
        report = first.run(f"iperf3 -c 10.0.0.2 -t {arguments.seconds}", 60 + arguments.seconds)
        rates = re.findall(r"([\d.]+ [MG]bits/sec)\s+receiver", report)
        if not rates:
            raise Failed(f"iperf3 brought nothing:\n{report}")
        print(f"iperf3, TCP: {rates[-1]}")
        ping(first)
        before = first_memory = None
        for number in range(arguments.restarts):
            guests[1].end()
            guests[1] = Guest(f"second-{number}", "10.0.0.2", sockets[1], folder, arguments.second_card)
            guests[1].wait_ready()
            first.run("ip neigh flush dev eth0 2>/dev/null")
            ping(first)
            now = (descriptors(switch), mappings(switch))
            before = before or now
            memory = own_memory(switch)
            first_memory = first_memory or memory
            has = f"{now[0]} descriptors, {now[1]} mappings of guests, {memory} KiB"
            print(f"guest restart {number + 1}: ping 5 of 5; the switch has {has}")
            if now != before:
                raise Failed(f"the switch had {before} descriptors and mappings after the first restart, and has {now}")
            if memory > first_memory + MOST_GROWTH_KIB:
                raise Failed(f"the switch had {first_memory} KiB after the first restart, and has {memory}")
        for number in range(arguments.restarts):
            stop_switch(switch, "kill" if number % 2 else "terminate")
            switch = start_switch(arguments, folder)
            ping(first)
            print(f"switch restart {number + 1}: ping 5 of 5")
    finally:
        for guest in guests:
            guest.end()
        stop_switch(switch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--second-card", default=",packed=on", help="options of the second guest's card")
    arguments = parser.parse_args()
    missing = [name for name in ("qemu-system-x86_64", "busybox", "iperf3", "cpio") if not shutil.which(name)]
    if missing:
        print(f"SKIPPED: not installed: {', '.join(missing)}")
        sys.exit(1 if os.environ.get("FOREBAY_STRICT") else 0)
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(arguments, folder)
        except Failed as failure:
            sys.exit(str(failure))


if __name__ == "__main__":
    main()
