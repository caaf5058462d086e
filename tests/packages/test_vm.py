#!/usr/bin/env python3
"""The virtual machine, booted by QEMU without KVM: configured by cloud-init alone, it forwards between its uplink and
its downlink. Needs root, qemu-system-x86_64, genisoimage, iperf3, ssh.

    h1 10.0.0.1 -- bridge -- TAP -- uplink [forebay@portfwd in the guest] downlink -- TAP -- bridge -- h2 10.0.0.2
                                    management: user-mode network, ssh from the namespace of QEMU

With --vhost a switch on the host ($FOREBAY, or target/release/forebay) replaces each bridge and its TAP device, and is
the guest's network card over vhost-user.
"""

import json
import pathlib
import subprocess
import sys

import tree
from bed import FOREBAY, arguments, check, main, wait_until

BOOT_SECONDS = 900
SSH_PORT = 2222
# The least rate of iperf3 for each kind of the guest's cards. Over vhost-user it was 265 Mbit/s, and 0.2 when the guest
# lost frames.
LEAST_MBPS = {"tap": 0.1, "vhost": 20}
USER = "netops"
MACS = {"management": "52:54:00:00:00:01", "uplink": "52:54:00:00:00:02", "downlink": "52:54:00:00:00:03"}
HOSTS = {"uplink": ("h1", "10.0.0.1"), "downlink": ("h2", "10.0.0.2")}
USER_DATA = """#cloud-config
hostname: function
users:
  - name: {user}
    sudo: "ALL=(ALL) NOPASSWD:ALL"
    shell: /bin/bash
    ssh_authorized_keys: ["{key}"]
write_files:
  - path: /etc/forebay/portfwd.toml
    content: |
      program = "/usr/share/forebay/programs/portfwd/portfwd.p4"
      entries = "/usr/share/forebay/programs/portfwd/entries.stf"
      interfaces = ["1@uplink", "2@downlink"]
runcmd:
  - systemctl enable --now forebay@portfwd
  - sh -c 'sleep 5; ip -brief link; systemctl --no-pager status forebay@portfwd; journalctl --no-pager -b -u forebay@portfwd' > /dev/ttyS0
"""


def network_configuration():
    """The network configuration for cloud-init: names of the interfaces, and DHCP for management."""
    ethernets = {name: {"match": {"macaddress": mac}, "set-name": name} for name, mac in MACS.items()}
    ethernets["management"]["dhcp4"] = True
    for name in HOSTS:
        ethernets[name]["optional"] = True
        ethernets[name]["link-local"] = []
    return json.dumps({"version": 2, "ethernets": ethernets})


def seed(folder, key):
    """The NoCloud disk."""
    files = folder / "seed"
    files.mkdir()
    (files / "user-data").write_text(USER_DATA.format(user=USER, key=key))
    (files / "meta-data").write_text("instance-id: forebay-test\n")
    (files / "network-config").write_text(network_configuration())
    made = folder / "seed.iso"
    names = ["user-data", "meta-data", "network-config"]
    words = [
        "genisoimage",
        "-quiet",
        "-output",
        made,
        "-volid",
        "cidata",
        "-joliet",
        "-rock",
        *(files / name for name in names),
    ]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    return made


def wire_by_vhost(bed, vm):
    """A switch for each of both interfaces, between a host and the guest's network card."""
    hosts = {}
    for name, (host, address) in HOSTS.items():
        hosts[name] = bed.host(host, "eth0", vm, f"p-{name}", f"{address}/24")
        ports = ["-i", f"1@packet:p-{name}", "-i", f"2@vhost:{socket(bed, name)}"]
        program = tree.ROOT / "programs/portfwd"
        entries = ["--entries", program / "entries.stf", "--json"]
        switch = vm.start(FOREBAY, "run", program / "portfwd.p4", *entries, *ports, name=f"switch-{name}")
        wait_for_socket(switch, socket(bed, name))
    return hosts["uplink"], hosts["downlink"]


def wait_for_socket(switch, path):
    wait_until(lambda: switch.poll() is not None or path.exists(), "the switch of the host listens")
    check(switch.poll() is None, f"a switch of the host listens at {path.name}")


def socket(bed, name):
    return bed.folder / f"{name}.sock"


def wire_by_tap(bed, vm):
    """A TAP device of the guest for each of both interfaces, bridged to a host."""
    hosts = {}
    for name, (host, address) in HOSTS.items():
        bridge, tap, port = f"br-{name}", f"tap-{name}", f"p-{name}"
        hosts[name] = bed.host(host, "eth0", vm, port, f"{address}/24")
        vm.run("ip", "tuntap", "add", tap, "mode", "tap")
        vm.run("ip", "link", "add", bridge, "type", "bridge", "mcast_snooping", "0")
        for member in (tap, port):
            vm.run("ip", "link", "set", member, "master", bridge, "up")
        vm.run("ip", "link", "set", bridge, "up")
    return hosts["uplink"], hosts["downlink"]


def cards(bed, vhost):
    """Options of QEMU for uplink and downlink."""
    words = []
    for name in HOSTS:
        device = f"virtio-net-pci,netdev={name},mac={MACS[name]}"
        if vhost:
            words += ["-chardev", f"socket,id=c-{name},path={socket(bed, name)},reconnect=1"]
            words += ["-netdev", f"vhost-user,id={name},chardev=c-{name}"]
            # QEMU 7.2 ends when vhost-user has interrupts by messages (MSI-X) and no KVM.
            device += ",vectors=0"
            # The function loads an XDP program, before which the guest turns super-frames off. QEMU keeps that from
            # vhost-user.
            device += ",guest_tso4=off,guest_tso6=off"
        else:
            words += ["-netdev", f"tap,id={name},ifname=tap-{name},script=no,downscript=no"]
        words += ["-device", device]
    return words


def boot(bed, vm, disk, iso, vhost):
    """Starts the machine; its console is a file."""
    words = [
        "qemu-system-x86_64",
        "-accel",
        "tcg,thread=multi",
        "-smp",
        "2",
        "-m",
        "1024",
        "-display",
        "none",
        "-no-reboot",
    ]
    if vhost:
        words += ["-object", "memory-backend-memfd,id=memory,size=1024M,share=on", "-numa", "node,memdev=memory"]
    words += ["-drive", f"file={disk},if=virtio", "-drive", f"file={iso},if=virtio,format=raw,readonly=on"]
    words += ["-serial", f"file:{bed.folder / 'console.log'}", "-monitor", "none"]
    words += ["-netdev", f"user,id=management,hostfwd=tcp:127.0.0.1:{SSH_PORT}-:22"]
    words += ["-device", f"virtio-net-pci,netdev=management,mac={MACS['management']}"]
    return vm.start(*words, *cards(bed, vhost))


class Machine:
    """The guest, and the way into it by its management interface."""

    def __init__(self, bed, vm, base, vhost):
        self.vm, self.key = vm, bed.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        disk = bed.folder / "disk.qcow2"
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", base, disk], check=True)
        iso = seed(bed.folder, self.key.with_suffix(".pub").read_text().strip())
        self.process = boot(bed, vm, disk, iso, vhost)

    def words(self, command):
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "ConnectTimeout=10", "LogLevel=ERROR"]
        options = [f"-o{option}" for option in options]
        return ["ssh", *options, "-i", self.key, "-p", SSH_PORT, f"{USER}@127.0.0.1", command]

    def run(self, command):
        return self.vm.run(*self.words(command))

    def is_reached(self):
        return self.vm.succeeds(*self.words("true"))

    def has_ended(self):
        return self.process.poll() is not None


def check_traffic(machine, one, two, least_mbps):
    def passes():
        return machine.has_ended() or one.succeeds("ping", "-c", "1", "-W", "1", "10.0.0.2")

    wait_until(passes, "the guest boots and its function forwards", BOOT_SECONDS)
    check(not machine.has_ended(), "the guest boots; by cloud-init alone a function runs between uplink and downlink")
    one.run("ping", "-c", "10", "-i", "0.2", "10.0.0.2")
    check(True, "pings pass it without loss")
    two.start("iperf3", "-s")
    wait_until(lambda: two.succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3 listens")
    done = json.loads(one.run("iperf3", "-c", "10.0.0.2", "-t", "5", "--json"))
    rate = done["end"]["sum_received"]["bits_per_second"] / 1e6
    check(rate > least_mbps, f"TCP passes it: {rate:.1f} Mbit/s in an emulated processor, at least {least_mbps}")


def check_inside(machine):
    wait_until(machine.is_reached, "ssh on the management interface", 120)
    state = machine.run(
        "systemctl is-active forebay@portfwd; ps -o user= -C forebay; systemctl --failed --no-legend --plain"
    )
    check(
        state.split() == ["active", "forebay"],
        f"the service is active as its user, and no unit has failed: {state.split()}",
    )
    status = machine.run("systemctl show --value --property StatusText forebay@portfwd").strip()
    check(status == "ready", f"systemd is told that it is {status}")
    print(f"  {machine.run('systemd-analyze security --no-pager forebay@portfwd | tail -1').strip()}")
    tools = [
        "influxd version",
        "iperf3 --version | head -1",
        "/opt/forebay/bin/python -c 'import finsy'",
        "forebay function list | wc -l",
    ]
    print("  " + machine.run("; ".join(tools)).strip().replace("\n", "\n  "))


def test(bed, options):
    vm = bed.namespace("vm")
    vhost = options.vhost
    one, two = (wire_by_vhost if vhost else wire_by_tap)(bed, vm)
    machine = Machine(bed, vm, options.file.resolve(), vhost)
    check_traffic(machine, one, two, LEAST_MBPS["vhost" if vhost else "tap"])
    check_inside(machine)
    machine.run("sudo systemctl restart forebay@portfwd")
    wait_until(lambda: one.succeeds("ping", "-c", "1", "-W", "1", "10.0.0.2"), "it forwards again", 60)
    check(True, "it forwards again after a restart of the service")


if __name__ == "__main__":
    parser = arguments()
    parser.add_argument("file", type=pathlib.Path, metavar="DISK.qcow2")
    parser.add_argument("--vhost", action="store_true", help="a switch is the guest's network card")
    options = parser.parse_args()
    commands = ["qemu-system-x86_64", "qemu-img", "genisoimage", "iperf3", "ssh", "ssh-keygen"]
    sys.exit(main(test, *commands, *([FOREBAY] if options.vhost else []), options=options))
