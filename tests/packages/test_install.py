#!/usr/bin/env python3
"""What `make install` does to files: their modes do not depend on the umask, and an executable that runs is replaced. The
Debian package is the same whatever the umask is. Needs no rights.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import deb  # noqa: E402
import tree  # noqa: E402


def check(condition, what):
    if not condition:
        raise SystemExit(f"  FAILED: {what}")
    print(f"  ok: {what}")


def with_umask(mask, action):
    """What a function gives under a umask."""
    before = os.umask(mask)
    try:
        return action()
    finally:
        os.umask(before)


def modes(top):
    """The mode of every file and folder below, by its path there."""
    return {str(path.relative_to(top)): oct(path.lstat().st_mode) for path in top.rglob("*")}


def check_modes(forebay, folder):
    installed = {
        mask: with_umask(mask, lambda: tree.install(forebay, f"{folder}/{mask:03o}", "/usr")) for mask in (0o022, 0o077)
    }
    usual, strict = (modes(top) for top in installed.values())
    differ = [path for path in usual if usual[path] != strict.get(path)]
    check(usual.keys() == strict.keys() and not differ, f"modes do not depend on the umask {differ[:5] or ''}".rstrip())
    return installed[0o022]


def check_replacement(forebay, folder, top):
    """Installs once more while the installed executable runs."""
    installed = top / "bin/forebay"
    program = top / "share/forebay/programs/ascon/ascon.p4"
    words = [installed, "run", program, "-i", "1@timer:1s,1"]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        before = installed.stat().st_ino
        tree.install(forebay, folder, "/usr")
        check(running.poll() is None, "a switch runs while its executable is installed again")
    finally:
        running.terminate()
        running.wait()
    check(installed.stat().st_ino != before, "the new executable is another file")
    left = [str(path) for path in top.rglob("*.new")]
    check(not left, f"no part of an installation is left over {left or ''}".rstrip())


def check_package(forebay, folder):
    if absent := [command for command in ("dpkg-deb", "readelf", "cargo") if shutil.which(command) is None]:
        print(f"  skipped: the package, without {', '.join(absent)}")
        return
    version = tree.version()
    packages = [with_umask(mask, lambda: deb.build(forebay, folder / f"deb-{mask:03o}", version)) for mask in (0o022, 0o077)]
    usual, strict = (package.read_bytes() for package in packages)
    check(usual == strict, "the Debian package does not depend on the umask")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("forebay", type=pathlib.Path, metavar="FOREBAY")
    forebay = parser.parse_args().forebay.resolve()
    with tempfile.TemporaryDirectory() as folder:
        top = check_modes(forebay, folder)
        check_replacement(forebay, f"{folder}/022", top)
        check_package(forebay, pathlib.Path(folder))


if __name__ == "__main__":
    main()
