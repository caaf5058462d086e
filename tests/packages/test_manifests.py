#!/usr/bin/env python3
"""Descriptions of Forebay for other systems: Kubernetes manifests against the schemas of Kubernetes, the containerlab
topology, the descriptor, the bill of materials against the schema of CycloneDX. Every configuration of `forebay run` in
them is started.

    tests/packages/test_manifests.py [BILL.cdx.json]

Packages from PyPI go into target/packages/python. As root pings pass the configuration of the Kubernetes pod, in
namespaces.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FOREBAY = os.environ.get("FOREBAY", str(TARGET / "release/forebay"))
ENVIRONMENT = TARGET / "packages/python"
PACKAGES = ["pyyaml==6.0.3", "kubernetes-validate==1.37.0", "cyclonedx-python-lib[json-validation]>=9,<12"]
INSTALLED = "/usr/share/forebay"


def check(condition, what):
    if not condition:
        raise SystemExit(f"  FAILED: {what}")
    print(f"  ok: {what}")


def in_environment():
    """Starts this program again with the packages that it needs."""
    interpreter, complete = ENVIRONMENT / "bin/python", ENVIRONMENT / "complete"
    if pathlib.Path(sys.prefix) == ENVIRONMENT:
        return
    if not complete.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run(
            [interpreter, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *PACKAGES], check=True
        )
        complete.touch()
    os.execv(interpreter, [interpreter, *sys.argv])


def documents(path):
    import yaml

    return [one for one in yaml.safe_load_all((ROOT / "packaging" / path).read_text()) if one]


def starts(configuration, what):
    """`forebay run` starts with the configuration; its interfaces and its state are replaced by ones that every machine
    has."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "forebay.toml"
        path.write_text(configuration.replace(INSTALLED, str(ROOT)))
        words = [FOREBAY, "run", "--config", path, "-i", "1@mem:", "-i", "2@mem:", "--duration", "0.2", "--json"]
        if "save-state" in configuration:
            words += ["--grpc", f"unix:{folder}/grpc", "--save-state", f"{folder}/state"]
        done = subprocess.run(words, capture_output=True, text=True)
    check(done.returncode == 0, f"{what}: `forebay run` takes the configuration {done.stderr.strip()[-300:]}".rstrip())


def kubernetes():
    import kubernetes_validate

    by_kind = {}
    for document in documents("kubernetes/forebay.yaml"):
        kind = document["kind"]
        by_kind.setdefault(kind, []).append(document)
        if kind != "NetworkAttachmentDefinition":
            kubernetes_validate.validate(document, "1.32", strict=True)
    check("DaemonSet" in by_kind, f"Kubernetes: {', '.join(by_kind)} are as the schemas say")
    attachments = {
        document["metadata"]["name"]: json.loads(document["spec"]["config"])
        for document in by_kind["NetworkAttachmentDefinition"]
    }
    pod = by_kind["DaemonSet"][0]["spec"]["template"]
    wanted = json.loads(pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"])
    check(
        {one["name"] for one in wanted} == set(attachments),
        "Kubernetes: the pod is attached to the networks that are defined",
    )
    configuration = by_kind["ConfigMap"][0]["data"]["forebay.toml"]
    check(
        all(f"@{one['interface']}" in configuration for one in wanted),
        "Kubernetes: ports are the interfaces that Multus makes",
    )
    container = pod["spec"]["containers"][0]
    check(
        set(container["securityContext"]["capabilities"]["add"]) == {"NET_ADMIN", "NET_RAW", "BPF"},
        "Kubernetes: three capabilities",
    )
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    check({mount["name"] for mount in container["volumeMounts"]} == volumes, "Kubernetes: every volume is mounted")
    starts(configuration, "Kubernetes")
    forwards(configuration, container["readinessProbe"]["exec"]["command"])


def forwards(configuration, probe):
    """As root: with two interfaces the pod's configuration lets pings pass; the pod is ready as long as ports are up
    and entries are there."""
    sys.path.insert(0, str(ROOT / "functions/lib"))
    from bed import Bed, wait_until

    if os.geteuid() != 0:
        check(not os.environ.get("FOREBAY_STRICT"), "Kubernetes: pings are not tried, since only root makes namespaces")
        return
    with Bed() as bed:
        pod = bed.namespace("pod")
        inside = bed.host("inside", "eth0", pod, "uplink", "10.0.0.5/8", mac="02:00:00:00:00:02")
        inside.run("ip", "route", "add", "default", "via", "10.0.0.1")
        outside = bed.host("outside", "eth0", pod, "downlink", "192.0.2.2/24", mac="02:00:00:00:01:02")
        outside.run("ip", "route", "add", "203.0.113.0/24", "via", "192.0.2.1")
        text = configuration.replace(INSTALLED, str(ROOT))
        for place in ("/run/forebay", "/var/lib/forebay"):
            (bed.folder / place.replace("/", "-")).mkdir()
            text = text.replace(place, f"{bed.folder}/{place.replace('/', '-')}")
        (bed.folder / "forebay.toml").write_text(text)
        probe = [FOREBAY, *(word.replace("/run/forebay", f"{bed.folder}/-run-forebay") for word in probe[1:])]

        def is_ready_after(word, *words):
            """Whether the pod becomes ready, or stops being it, by a command."""
            words[0](*words[1:])
            wait_until(lambda: pod.succeeds(*probe) == (word == "ready"), f"the pod is {word}", 60)
            check(True, f"Kubernetes: after `{' '.join(words[1:])}` the pod is {word}")

        check(not pod.succeeds(*probe), "Kubernetes: without a switch the pod is not ready")
        pod.start(FOREBAY, "run", "--config", bed.folder / "forebay.toml")
        wait_until(lambda: pod.succeeds(*probe), "the pod is ready", 60)
        inside.run("ping", "-c", "3", "-i", "0.2", "192.0.2.2")
        check(True, "Kubernetes: the pod is ready, and pings pass its NAT")
        is_ready_after("not ready", outside.run, "ip", "link", "set", "eth0", "down")
        is_ready_after("ready", outside.run, "ip", "link", "set", "eth0", "up")
        control = lambda *words: pod.run(*probe[:-1], *words)  # noqa: E731
        is_ready_after("not ready", control, "table", "clear", "routes")


def containerlab():
    (topology,) = documents("containerlab/forebay.clab.yml")
    nodes = topology["topology"]["nodes"]
    ends = [end.split(":") for link in topology["topology"]["links"] for end in link["endpoints"]]
    check(all(node in nodes for node, _ in ends), "containerlab: links are between nodes that exist")
    words = nodes["nat"]["cmd"].replace(INSTALLED, str(ROOT)).split()
    ports = {word.split("@")[1] for word in words if "@" in word}
    check(
        ports == {interface for node, interface in ends if node == "nat"},
        "containerlab: ports are the interfaces of links",
    )
    words = [f"{word.split('@')[0]}@mem:" if "@" in word else word for word in words]
    done = subprocess.run([FOREBAY, *words, "--duration", "0.2"], capture_output=True, text=True)
    check(done.returncode == 0, f"containerlab: the command starts {done.stderr.strip()[-300:]}".rstrip())


def etsi():
    (descriptor,) = documents("etsi/vnfd.yaml")
    template = descriptor["topology_template"]
    nodes = template["node_templates"]
    points = [name for name, node in nodes.items() if node["type"] == "tosca.nodes.nfv.VduCp"]
    bound = [requirement["virtual_binding"] for name in points for requirement in nodes[name]["requirements"]]
    check(len(points) == 3 and set(bound) == {"function"}, "descriptor: three connection points of one machine")
    mapped = {point for point, _ in template["substitution_mappings"]["requirements"].values()}
    check(mapped == set(points), "descriptor: every connection point is one of the function's")


def bill_of_materials(path):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    text = path.read_text()
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    check(
        error is None,
        f"bill of materials: as the schema of CycloneDX 1.5 says {str(error)[:300] if error else ''}".rstrip(),
    )
    components = json.loads(text)["components"]
    without = [one["name"] for one in components if not one.get("licenses") and "deb/" not in one["purl"]]
    check(
        not without, f"bill of materials: {len(components)} components, each with its licence {without or ''}".rstrip()
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bills", type=pathlib.Path, nargs="*", metavar="BILL.cdx.json")
    options = parser.parse_args()
    in_environment()
    for path in sorted((ROOT / "packaging/examples").glob("*.toml")):
        starts(path.read_text(), path.name)
    kubernetes()
    containerlab()
    etsi()
    for path in options.bills:
        bill_of_materials(path)


if __name__ == "__main__":
    main()
