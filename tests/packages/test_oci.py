#!/usr/bin/env python3
"""The container image: unpacked by umoci, run by runc as Docker and Kubernetes run images whose user is not root,
between two hosts. Needs root, umoci, runc.

    h1 10.0.0.1 -- 1 [portfwd, in a container] 2 -- h2 10.0.0.2
"""

import json
import pathlib
import subprocess
import sys
import tarfile

import tree  # noqa: F401
from bed import Failed, arguments, check, main, stop, wait_until

CAPABILITIES = ["CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF"]
LARGEST = 50_000_000
PROGRAM = "/usr/share/forebay/programs/portfwd"
READY = ["/usr/bin/forebay", "ctl", "--grpc", "unix:/run/forebay/grpc", "ready"]


def unpack(image, folder):
    """The root and the runtime's configuration, made by umoci."""
    layout, bundle = folder / "layout", folder / "bundle"
    with tarfile.open(image) as archive:
        archive.extractall(layout, filter="data")
    tag = json.loads((layout / "index.json").read_text())["manifests"][0]["annotations"][
        "org.opencontainers.image.ref.name"
    ]
    subprocess.run(["umoci", "unpack", "--image", f"{layout}:{tag}", bundle], check=True, stderr=subprocess.DEVNULL)
    return bundle


def configure(bundle, namespace, words, capabilities):
    """Puts command, network namespace and capabilities in. As in engines, the capabilities of a user that is not root
    are those that programs may get, but not ambient: the executable's own ones count."""
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    process = config["process"]
    process.update(args=["/usr/bin/forebay", *words], terminal=False, noNewPrivileges=False)
    process["capabilities"] = {kind: capabilities for kind in ("bounding", "effective", "permitted")}
    kinds = [one for one in config["linux"]["namespaces"] if one["type"] not in ("network", "cgroup")]
    config["linux"]["namespaces"] = [*kinds, {"type": "network", "path": f"/var/run/netns/{namespace.full_name}"}]
    config["linux"].pop("resources", None)
    path.write_text(json.dumps(config))


def container(bed, bundle, name, *words, capabilities=CAPABILITIES, namespace):
    configure(bundle, namespace, words, capabilities)
    output = bed.folder / f"{name}.log"
    with output.open("wb") as file:
        command = ["runc", "--root", bed.folder / "runc", "run", "--bundle", bundle, f"{namespace.full_name}-{name}"]
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    process.output = output
    bed.processes.append(process)
    return process


def test(bed, options):
    image = options.file.resolve()
    size = image.stat().st_size
    check(size < LARGEST, f"the image has {size / 1e6:.1f} MB, less than {LARGEST / 1e6:.0f}")
    switch = bed.namespace("switch")
    one = bed.host("h1", "eth0", switch, "p1", "10.0.0.1/24")
    bed.host("h2", "eth0", switch, "p2", "10.0.0.2/24")
    bundle = unpack(image, bed.folder)
    user = json.loads((bundle / "config.json").read_text())["process"]["user"]["uid"]
    check(user != 0, f"its user is {user}, not root")
    check(
        not any((bundle / "rootfs" / shell).exists() for shell in ("bin/sh", "usr/bin/sh")), "there is no shell in it"
    )
    bare = container(bed, bundle, "bare", "--version", capabilities=[], namespace=switch)
    check(bare.wait(60) == 0, "without any capability `forebay --version` runs")
    words = [
        "run",
        f"{PROGRAM}/portfwd.p4",
        "--entries",
        f"{PROGRAM}/entries.stf",
        "-i",
        "1@p1",
        "-i",
        "2@p2",
        "--grpc",
        "unix:/run/forebay/grpc",
        "--json",
    ]
    process = container(bed, bundle, "portfwd", *words, namespace=switch)
    wait_until(
        lambda: process.poll() is not None or b'"ports"' in process.output.read_bytes(), "the container starts", 60
    )
    if process.poll() is not None:
        raise Failed(f"the container ends: {process.output.read_text()[-800:]}")
    one.run("ping", "-c", "3", "-i", "0.2", "10.0.0.2")
    done = subprocess.run(["runc", "--root", bed.folder / "runc", "exec", f"{switch.full_name}-portfwd", *READY])
    check(done.returncode == 0, f"`{' '.join(READY)}` in the container says that it is ready")
    check(True, f"pings pass the container, which has {', '.join(CAPABILITIES)} and nothing else")
    stop(process)
    check(process.returncode == 0, "it ends in order")


if __name__ == "__main__":
    parser = arguments()
    parser.add_argument("file", type=pathlib.Path, metavar="IMAGE.tar")
    options = parser.parse_args()
    sys.exit(main(test, "umoci", "runc", options=options))
