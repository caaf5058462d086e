#!/usr/bin/env python3
"""The container image (OCI image format 1.0), made without a container engine: two layers, configuration, manifest.

    packaging/oci.py --binary target/release/forebay --out target/dist

First stage: libc and libgcc from Debian's packages (mmdebstrap), of which only the libraries stay. Second stage: the
files of `make install`. There is no shell and no package manager inside. The archive is an OCI layout, which `docker
load` also reads.

The image's user is not root. The executable has file capabilities for interfaces, so that it gets those that the
container has. `forebay run` raises them, and starts without the missing ones.
"""

import argparse
import gzip
import hashlib
import io
import json
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile

import deb
import sbom
import tree

SUITE = "bookworm"
PACKAGES = ["libc6", "libgcc-s1", "base-files"]
LIBRARIES = [
    "ld-linux-*.so.*",
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "libresolv.so.2",
    "libnss_dns.so.2",
    "libnss_files.so.2",
]
KEPT = ["etc/os-release", "usr/lib/os-release", "lib64/*"]
KEPT += [f"lib/*/{library}" for library in LIBRARIES] + [f"usr/share/doc/{package}/copyright" for package in PACKAGES]
USER = 65532
# CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF.
CAPABILITIES = [12, 13, 39]
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIGURATION = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def system(folder, mirror):
    """Debian's libraries in a folder; gives the versions of their packages."""
    archive = folder / "system.tar"
    words = ["mmdebstrap", "--quiet", "--variant=extract", f"--include={','.join(PACKAGES)}", SUITE, archive, mirror]
    subprocess.run(words, check=True)
    versions, root = {}, folder / "system"
    with tarfile.open(archive) as members:
        for member in members:
            name = pathlib.PurePosixPath(member.name)
            if found := re.fullmatch(r"\./usr/share/doc/(.+)/changelog(\.Debian)?\.gz", member.name):
                first = gzip.decompress(members.extractfile(member).read()).split(b"\n", 1)[0].decode()
                if version := re.match(r"\S+ \((.*?)\)", first):
                    versions[found[1]] = version[1]
            if any(name.match(kept) for kept in KEPT) and not member.isdir():
                members.extract(member, root, filter="tar")
    return root, {package: versions[package] for package in PACKAGES if package in versions}


def capability_attribute():
    """Value of `security.capability`: capabilities that are permitted, but not effective by themselves, or a container
    without one of them could not start the executable."""
    bits = sum(1 << capability for capability in CAPABILITIES)
    return struct.pack("<IIIII", 0x02000000, bits & 0xFFFFFFFF, 0, bits >> 32, 0)


def members(root):
    """Every file and folder below, in order."""
    return sorted(root.rglob("*"), key=lambda path: str(path.relative_to(root)))


def layer(root, seconds, owned=(), capable=()):
    """A layer of a folder as bytes, and the digest of what is in the compressed file. Files belong to root but for
    those in `owned`."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in members(root):
            name = str(path.relative_to(root))
            member = archive.gettarinfo(path, name)
            member.mtime, member.uname, member.gname = seconds, "", ""
            member.uid = member.gid = USER if name in owned else 0
            if name in capable:
                value = capability_attribute().decode("utf-8", "surrogateescape")
                member.pax_headers = {"SCHILY.xattr.security.capability": value}
            if member.isreg():
                with path.open("rb") as file:
                    archive.addfile(member, file)
            else:
                archive.addfile(member)
    plain = plain.getvalue()
    return gzip.compress(plain, 9, mtime=0), digest(plain)


def digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def application(folder, binary, bill):
    """What is installed, the user, and folders for configurations and state."""
    root = folder / "application"
    tree.make_folder(root)
    usr = tree.install(binary, str(root), "/usr")
    for unused in ("lib", "share/man", "share/bash-completion", "share/zsh", "share/fish"):
        shutil.rmtree(usr / unused)
    tree.put_bytes(f"{json.dumps(bill, indent=1)}\n".encode(), usr / "share/doc/forebay/forebay.cdx.json")
    for name in ("etc/forebay", "var/lib/forebay", "run/forebay", "tmp"):
        tree.make_folder(root / name)
    (root / "tmp").chmod(0o1777)
    users = f"root:x:0:0:root:/root:/sbin/nologin\nforebay:x:{USER}:{USER}:forebay:/:/sbin/nologin\n"
    tree.put_bytes(users.encode(), root / "etc/passwd")
    tree.put_bytes(f"root:x:0:\nforebay:x:{USER}:\n".encode(), root / "etc/group")
    return root


def configuration(version, layers, seconds):
    """The image's configuration: how a container starts."""
    created = subprocess.run(
        ["date", "-u", "-d", f"@{seconds}", "+%Y-%m-%dT%H:%M:%SZ"], check=True, capture_output=True, text=True
    )
    title = "org.opencontainers.image"
    return {
        "created": created.stdout.strip(),
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/forebay"],
            "Cmd": ["run", "--config", "/etc/forebay/forebay.toml"],
            "Env": ["PATH=/usr/bin"],
            "WorkingDir": "/etc/forebay",
            "StopSignal": "SIGTERM",
            "Volumes": {"/var/lib/forebay": {}},
            "Labels": {f"{title}.title": "forebay", f"{title}.version": version, f"{title}.licenses": "Apache-2.0"},
        },
        "rootfs": {"type": "layers", "diff_ids": [plain for _, plain in layers]},
        "history": [{"created_by": f"Debian {SUITE}: {', '.join(PACKAGES)}"}, {"created_by": "make install"}],
    }


def described(kind, data, **more):
    return {"mediaType": kind, "digest": digest(data), "size": len(data), **more}


def write(path, image, tag, seconds):
    """The archive: an OCI layout, and `manifest.json` for engines that know only Docker's form."""
    layers, config = image
    encode = lambda value: json.dumps(value, sort_keys=True).encode()  # noqa: E731
    config = encode(config)
    blobs = [data for data, _ in layers]
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described(CONFIGURATION, config)}
    manifest["layers"] = [described(LAYER, data) for data in blobs]
    manifest = encode(manifest)
    name = {"org.opencontainers.image.ref.name": tag}
    index = encode(
        {"schemaVersion": 2, "mediaType": INDEX, "manifests": [described(MANIFEST, manifest, annotations=name)]}
    )

    def place(data):
        return "blobs/sha256/" + digest(data).removeprefix("sha256:")

    docker = [{"Config": place(config), "RepoTags": [f"forebay:{tag}"], "Layers": [place(data) for data in blobs]}]
    files = {
        "oci-layout": encode({"imageLayoutVersion": "1.0.0"}),
        "index.json": index,
        "manifest.json": encode(docker),
    }
    files |= {place(data): data for data in (config, manifest, *blobs)}
    with tarfile.open(path, "w") as archive:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), seconds
            archive.addfile(member, io.BytesIO(data))


def bill(version, packages):
    """The bill of materials of the executable and of Debian's packages."""
    document = sbom.sbom(sbom.host(), version)
    for name, of_package in packages.items():
        reference = f"pkg:deb/debian/{name}@{of_package}?distro={SUITE}"
        document["components"].append(
            {"type": "library", "bom-ref": reference, "name": name, "version": of_package, "purl": reference}
        )
    return document


def build(binary, out, version, mirror):
    """Makes the archive and gives its path."""
    seconds = deb.commit_time()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        libraries, packages = system(folder, mirror)
        files = application(folder, binary, bill(version, packages))
        owned = {"var/lib/forebay", "run/forebay"}
        layers = [layer(libraries, seconds), layer(files, seconds, owned, {"usr/bin/forebay"})]
        image = out / f"forebay-{version}-oci.tar"
        tree.make_folder(out)
        write(image, (layers, configuration(version, layers, seconds)), version, seconds)
    return image


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=tree.ROOT / "target/dist")
    parser.add_argument("--version", default=tree.version())
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="where Debian's packages come from")
    options = parser.parse_args()
    if shutil.which("mmdebstrap") is None:
        raise SystemExit("mmdebstrap is missing: apt-get install mmdebstrap")
    print(build(options.binary.resolve(), options.out.resolve(), options.version, options.mirror))


if __name__ == "__main__":
    main()
