#!/usr/bin/env python3
"""The virtual machine: a qcow2 disk of Debian 12 with the Debian package, made without starting one.

    packaging/vm.py --package target/dist/forebay_0.1.0_amd64.deb --out target/dist

Needs root and mmdebstrap. In the disk: the functions with their control programs and finsy (in /opt/forebay), InfluxDB
(off until `systemctl enable --now influxdb`), iperf3, tcpdump, ssh; cloud-init, which takes everything else from a
NoCloud disk, a ConfigDrive or OpenStack. The first interface is for management, and the configuration names the uplink
and the downlink (docs/install.md). The disk boots by BIOS.
"""

import argparse
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import tree

HERE = pathlib.Path(__file__).resolve().parent
SUITE = "bookworm"
PACKAGES = [
    "linux-image-cloud-amd64",
    "systemd-sysv",
    "systemd-resolved",
    "udev",
    "dbus",
    "kmod",
    "e2fsprogs",
    "grub-pc-bin",
    "grub-common",
    "cloud-init",
    "cloud-guest-utils",
    "openssh-server",
    "sudo",
    "ca-certificates",
    "iproute2",
    "iputils-ping",
    "ethtool",
    "iperf3",
    "tcpdump",
    "procps",
    "less",
    "nano",
    "python3",
    "python3-venv",
    "influxdb",
    "influxdb-client",
    "adduser",
]
# The requirement of the function library and its dependencies, for Debian 12's Python.
WHEELS = ["finsy==0.30"]
LABEL = "forebay"
SECTOR = 512
FIRST_SECTOR = 2048
GRUB_MODULES = [
    "biosdisk",
    "part_msdos",
    "ext2",
    "normal",
    "linux",
    "serial",
    "terminal",
    "echo",
    "test",
    "search",
    "boot",
    "configfile",
]


def run(*words, **options):
    subprocess.run([str(word) for word in words], check=True, **options)


def inside(root, *words):
    run("chroot", root, *words, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})


def system(root, package, mirror, folder):
    """Debian with everything, in a folder."""
    run(
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        "--format=directory",
        SUITE,
        root,
        mirror,
    )
    shutil.copy(package, root / "tmp/forebay.deb")
    inside(root, "dpkg", "--install", "/tmp/forebay.deb")
    wheels = folder / "wheels"
    wanted = ["--only-binary=:all:", "--python-version=3.11", "--platform=manylinux2014_x86_64"]
    run("python3", "-m", "pip", "--quiet", "download", *wanted, "--dest", wheels, *WHEELS)
    shutil.copytree(wheels, root / "tmp/wheels")
    inside(root, "python3", "-m", "venv", "/opt/forebay")
    inside(root, "/opt/forebay/bin/pip", "--quiet", "install", "--no-index", "--find-links=/tmp/wheels", *WHEELS)
    for path in sorted(path for path in (HERE / "vm").rglob("*") if path.is_file()):
        tree.put(path, root / path.relative_to(HERE / "vm"))
    for service in ("systemd-networkd", "systemd-resolved"):
        inside(root, "systemctl", "--quiet", "enable", service)
    inside(root, "systemctl", "--quiet", "disable", "influxdb")
    (root / "etc/fstab").write_text(f"LABEL={LABEL} / ext4 defaults,errors=remount-ro 0 1\n")
    (root / "etc/hostname").write_text("forebay\n")
    clean(root)


def clean(root):
    """Removes what each machine must have of its own, and what is not needed."""
    for path in [
        *root.glob("etc/ssh/ssh_host_*"),
        *root.glob("tmp/*"),
        *root.glob("var/lib/apt/lists/*"),
        *root.glob("var/cache/apt/*"),
    ]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (root / "etc/machine-id").write_text("")
    resolv = root / "etc/resolv.conf"
    resolv.unlink(missing_ok=True)
    resolv.symlink_to("../run/systemd/resolve/stub-resolv.conf")


def disk(root, path, gigabytes):
    """A disk with the folder as its only file system, and a boot loader that starts the kernel from it."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(gigabytes << 30)
    offset = FIRST_SECTOR * SECTOR
    blocks = ((gigabytes << 30) - offset) // 4096
    # GRUB does not know the newest features of ext4.
    options = [
        "-q",
        "-F",
        "-L",
        LABEL,
        "-O",
        "^metadata_csum_seed,^orphan_file",
        "-E",
        f"offset={offset}",
        "-b",
        "4096",
        "-d",
        root,
    ]
    run("mkfs.ext4", *options, path, blocks)
    install_boot_loader(root, path, (gigabytes << 30) // SECTOR - FIRST_SECTOR)


def partition_table(sectors):
    """The last bytes of the first sector: the disk's number, and one partition, from which is booted."""
    beyond_cylinders = b"\xfe\xff\xff"
    entry = b"\x80" + beyond_cylinders + b"\x83" + beyond_cylinders + struct.pack("<II", FIRST_SECTOR, sectors)
    return b"fore\0\0" + entry + bytes(3 * len(entry)) + b"\x55\xaa"


def install_boot_loader(root, path, sectors):
    """GRUB before the first partition: its first sector, whose list of blocks says that the rest follows, and the
    rest."""
    inside(root, "grub-mkimage", "-O", "i386-pc", "-p", "(hd0,msdos1)/boot/grub", "-o", "/tmp/core.img", *GRUB_MODULES)
    boot, core = (root / "usr/lib/grub/i386-pc/boot.img").read_bytes(), (root / "tmp/core.img").read_bytes()
    assert len(core) <= (FIRST_SECTOR - 1) * SECTOR, "GRUB does not fit before the first partition"
    with path.open("r+b") as file:
        file.write(boot[:440] + partition_table(sectors))
        file.seek(SECTOR)
        file.write(core)


def build(package, out, mirror, gigabytes):
    """Makes the disk and gives its path."""
    # Programs that run inside make files with modes for every user of the machine.
    os.umask(0o022)
    version = package.name.split("_")[1]
    made = out / f"forebay-{version}-vm.qcow2"
    tree.make_folder(out)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        folder = pathlib.Path(folder)
        root, raw = folder / "root", folder / "disk.raw"
        system(root, package, mirror, folder)
        disk(root, raw, gigabytes)
        run("qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", raw, made)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--package", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=tree.ROOT / "target/dist")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("--gigabytes", type=int, default=4, help="size of the disk, which grows with its first start")
    options = parser.parse_args()
    missing = [tool for tool in ("mmdebstrap", "qemu-img", "mkfs.ext4") if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        raise SystemExit(
            f"needs root and: {', '.join(missing) or 'nothing more'} (apt-get install mmdebstrap qemu-utils e2fsprogs)"
        )
    print(build(options.package.resolve(), options.out.resolve(), options.mirror, options.gigabytes))


if __name__ == "__main__":
    main()
