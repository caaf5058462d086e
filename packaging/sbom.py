#!/usr/bin/env python3
"""A software bill of materials in CycloneDX 1.5: the crates in the executable, with versions, licences, checksums.

    packaging/sbom.py [--platform x86_64-unknown-linux-gnu] > forebay.cdx.json

The same sources give the same bytes: only Cargo.lock and the manifests of crates are read.
"""

import argparse
import json
import pathlib
import platform
import subprocess
import uuid

import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def metadata(target):
    words = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout)


def linked(nodes, root):
    """Ids of the packages that are reached from `root` by other edges than those to build and test dependencies."""
    found, left = set(), [root]
    while left:
        package = left.pop()
        if package not in found:
            found.add(package)
            edges = nodes[package]["deps"]
            left += [edge["pkg"] for edge in edges if any(kind["kind"] is None for kind in edge["dep_kinds"])]
    return found


def checksums():
    """SHA-256 of each crate's archive, by name and version."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}


def component(package, checksum):
    name, version = package["name"], package["version"]
    made = {"type": "library", "bom-ref": f"{name}@{version}", "name": name, "version": version}
    made["purl"] = f"pkg:cargo/{name}@{version}"
    if package["license"]:
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return made


def sbom(target, version=None):
    """The document."""
    data = metadata(target)
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    root = next(identity for identity, package in packages.items() if package["name"] == "forebay-cli")
    chosen = linked(nodes, root)
    sums = checksums()

    def reference(identity):
        return f"{packages[identity]['name']}@{packages[identity]['version']}"

    components = [
        component(packages[one], sums.get((packages[one]["name"], packages[one]["version"]))) for one in chosen - {root}
    ]
    dependencies = [
        {
            "ref": reference(one),
            "dependsOn": sorted(
                {reference(edge["pkg"]) for edge in nodes[one]["deps"] if edge["pkg"] in chosen} - {reference(one)}
            ),
        }
        for one in chosen
    ]
    application = {
        "type": "application",
        "bom-ref": reference(root),
        "name": "forebay",
        "version": version or packages[root]["version"],
    }
    application["licenses"] = [{"expression": "Apache-2.0"}]
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": application}}
    document["components"] = sorted(components, key=lambda one: one["bom-ref"])
    document["dependencies"] = sorted(dependencies, key=lambda one: one["ref"])
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))}"
    return document


def host():
    return f"{platform.machine()}-unknown-linux-gnu"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--platform", default=host(), help="the target of the executable")
    print(json.dumps(sbom(parser.parse_args().platform), indent=1))


if __name__ == "__main__":
    main()
