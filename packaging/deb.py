#!/usr/bin/env python3
"""The Debian package, made from the installed tree (tree.py) by dpkg-deb.

    packaging/deb.py --binary target/release/forebay --out target/dist [--version 0.1.0]

The package depends on the newest version of libc whose symbols the executable uses. Dates of files are those of the
commit, so the same commit gives the same package.
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import sbom
import tree

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = ["postinst", "prerm", "postrm"]


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def glibc(binary):
    """The oldest version of libc that has every symbol of the executable."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "--version-info", "--wide", binary))
    return ".".join(map(str, max((int(major), int(minor)) for major, minor in versions)))


def commit_time():
    """Seconds since 1970 of the commit, or of $SOURCE_DATE_EPOCH."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    return int(output("git", "-C", HERE, "log", "-1", "--format=%ct"))


def compress(path):
    """Puts a compressed file in the place of another, without a date in it."""
    with open(f"{path}.gz", "wb") as file:
        file.write(gzip.compress(path.read_bytes(), 9, mtime=0))
    path.with_name(path.name + ".gz").chmod(0o644)
    path.unlink()


def changelog(version, seconds):
    date = output("date", "-u", "-R", "-d", f"@{seconds}").strip()
    maintainer = re.search(r"Maintainer: (.*)", (HERE / "debian/control.in").read_text())[1]
    return f"forebay ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- {maintainer}  {date}\n"


def documents(folder, version, seconds, bill):
    """Documents by the names that Debian gives them. The licence is one that every system has."""
    (folder / "LICENSE").unlink()
    (folder / "changelog").write_text(changelog(version, seconds))
    compress(folder / "changelog")
    tree.put(HERE / "debian/copyright", folder / "copyright")
    tree.put_bytes(f"{json.dumps(bill, indent=1)}\n".encode(), folder / "forebay.cdx.json")


def fill(root, binary, version, seconds):
    """The package's files."""
    usr = tree.install(binary, str(root), "/usr")
    documents(usr / "share/doc/forebay", version, seconds, sbom.sbom(sbom.host(), version))
    for page in sorted((usr / "share/man/man1").iterdir()):
        compress(page)
    zsh = usr / "share/zsh"
    (zsh / "site-functions").rename(zsh / "vendor-completions")
    (usr / "lib").rename(root / "lib")
    tree.put(HERE / "debian/lintian-overrides", usr / "share/lintian/overrides/forebay")
    tree.make_folder(root / "etc/forebay")


def control(root, binary, version):
    folder = root / "DEBIAN"
    tree.make_folder(folder)
    kilobytes = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file()) // 1024
    values = {"VERSION": version, "ARCHITECTURE": output("dpkg", "--print-architecture").strip()}
    values |= {"SIZE": str(kilobytes), "GLIBC": glibc(binary)}
    text = (HERE / "debian/control.in").read_text()
    tree.put_bytes(re.sub("@([A-Z]+)@", lambda found: values[found[1]], text).encode(), folder / "control")
    for script in SCRIPTS:
        tree.put(HERE / "debian" / script, folder / script, 0o755)
    files = sorted(path for path in root.rglob("*") if path.is_file() and folder not in path.parents)
    names = [path.relative_to(root) for path in files]
    sums = subprocess.run(["md5sum", *names], cwd=root, check=True, capture_output=True).stdout
    tree.put_bytes(sums, folder / "md5sums")
    return values["ARCHITECTURE"]


def build(binary, out, version):
    """Makes the package and gives its path."""
    seconds = commit_time()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "root"
        tree.make_folder(root)
        fill(root, binary, version, seconds)
        architecture = control(root, binary, version)
        for path in root.rglob("*"):
            os.utime(path, (seconds, seconds), follow_symlinks=False)
        package = out / f"forebay_{version}_{architecture}.deb"
        tree.make_folder(out)
        words = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z6", "--build", str(root), str(package)]
        subprocess.run(
            words, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(seconds)}
        )
    return package


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=tree.ROOT / "target/dist")
    parser.add_argument("--version", default=tree.version(), help="that of Cargo.toml without")
    options = parser.parse_args()
    if shutil.which("dpkg-deb") is None:
        raise SystemExit("dpkg-deb is missing: apt-get install dpkg")
    print(build(options.binary.resolve(), options.out.resolve(), options.version))


if __name__ == "__main__":
    main()
