#!/usr/bin/env python3
"""Installs Forebay: the executable, manual pages, completions, network functions, documents.

    packaging/tree.py --binary target/release/forebay [--prefix /usr/local] [--destdir DIR]

`make install` and the makers of packages call it.

Under the prefix:

    bin/forebay
    share/man/man1, share/bash-completion, share/zsh, share/fish
    share/forebay/{functions,programs,p4include}     where `forebay function` finds them
    share/doc/forebay
    lib/systemd/system/forebay@.service, forebay-upf@.service, forebay-collect@.service, forebay-control@.service

Tests and their makers stay in the repository.
"""

import argparse
import os
import pathlib
import shutil
import subprocess

import tomllib

import documents

ROOT = pathlib.Path(__file__).resolve().parents[1]
# With them, a copy of share/forebay is a folder in which everything works that the documents type in the repository's root.
DATA = ["functions", "programs", "p4include", "experiments", "docs/tutorial", "docs/notebooks"]
# Only tests use these. STF files are tests too, but users run them (`forebay test --all`), and entries are in this
# form.
NOT_INSTALLED = ["test.py", "test_*.py", "make_tests.py", "measure.py", "mutate.py", "captures.py", "trace.py", "bed.py", "stf.py", "wrong.py", "many_connections.py"]
# Of the experiments, their list, and what `forebay experiment` reads: their results are megabytes.
READ_OF_EXPERIMENTS = [".toml", ".stf", ".pcap", ".csv"]
READ_BY_OTHERS = ["experiments/table-5/result.json", "experiments/table-6/result.json"]
COMPLETIONS = {
    "bash": "share/bash-completion/completions/forebay",
    "zsh": "share/zsh/site-functions/_forebay",
    "fish": "share/fish/vendor_completions.d/forebay.fish",
}


def version():
    """The version of the workspace."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def data_files():
    """Files of the data folders that users need, relative to the repository: those of git, or in an archive of sources
    all."""
    listed = subprocess.run(["git", "ls-files", "-z", *DATA], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        paths = [pathlib.Path(name) for name in listed.stdout.split("\0") if name]
    else:
        found = (path for folder in DATA for path in (ROOT / folder).rglob("*") if path.is_file())
        paths = [path.relative_to(ROOT) for path in found if path.suffix != ".pyc"]
    return sorted(path for path in paths if is_installed(path))


def is_installed(path):
    if path.parts[0] == "experiments":
        return path.suffix in READ_OF_EXPERIMENTS or path.name == "README.md" or str(path) in READ_BY_OTHERS
    return not any(path.match(pattern) for pattern in NOT_INSTALLED)


def put(source, target, mode=0o644):
    """Copies a file and makes its folders, with modes that do not depend on the umask.

    The copy takes the place of an earlier file as a whole: an executable that runs can be replaced, but not written to.
    """
    make_folder(target.parent)
    copy = target.with_name(f"{target.name}.new")
    shutil.copyfile(source, copy)
    copy.chmod(mode)
    copy.replace(target)


def make_folder(folder):
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)


def put_bytes(content, target):
    make_folder(target.parent)
    target.write_bytes(content)
    target.chmod(0o644)


def put_text(source, target, prefix):
    """Copies a file that names installed files under /usr; they are under `prefix`."""
    text, prefix = source.read_text(), prefix.rstrip("/")
    make_folder(target.parent)
    target.write_text(
        text.replace("/usr/bin/", f"{prefix}/bin/")
        .replace("/usr/share/forebay", f"{prefix}/share/forebay")
        .replace("/usr/share/doc/forebay", f"{prefix}/share/doc/forebay")
    )
    target.chmod(0o644)


def install(binary, destdir, prefix, unit_prefix=None):
    """Puts everything under `destdir` for the prefix `prefix`. `unit_prefix`: where the unit and the examples find it,
    if that is elsewhere."""
    top = pathlib.Path(f"{destdir}/{prefix.strip('/')}") if destdir else pathlib.Path(prefix)
    forebay = top / "bin/forebay"
    put(binary, forebay, 0o755)
    pages = top / "share/man/man1"
    make_folder(pages)
    subprocess.run([forebay, "man", pages], check=True, stdout=subprocess.DEVNULL)
    for page in pages.glob("forebay*.1"):
        page.chmod(0o644)
    for shell, place in COMPLETIONS.items():
        script = subprocess.run([forebay, "completions", shell], check=True, capture_output=True).stdout
        make_folder((top / place).parent)
        (top / place).write_bytes(script)
        (top / place).chmod(0o644)
    data = data_files()
    for path in data:
        executable = os.access(ROOT / path, os.X_OK)
        put(ROOT / path, top / "share/forebay" / path, 0o755 if executable else 0o644)
    for place, source, content in documents.files(data):
        # Manifests are for containers, whose prefix is /usr.
        if source.endswith(".toml"):
            put_text(ROOT / source, top / place, unit_prefix or prefix)
        else:
            put_bytes(content, top / place)
    for unit in sorted((ROOT / "packaging/systemd").glob("*.service")):
        put_text(unit, top / "lib/systemd/system" / unit.name, unit_prefix or prefix)
    return top


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--binary", type=pathlib.Path, required=True, help="the executable, which `make build` has made"
    )
    parser.add_argument("--prefix", default="/usr/local")
    parser.add_argument("--destdir", default="", help="the folder that stands for /")
    parser.add_argument(
        "--unit-prefix",
        help="the prefix that unit and examples name, if another one: that of an archive which is yet to be unpacked",
    )
    options = parser.parse_args()
    print(install(options.binary, options.destdir, options.prefix, options.unit_prefix))


if __name__ == "__main__":
    main()
