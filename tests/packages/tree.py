"""A system of Debian packages in a folder, whose programs run in network namespaces. Needs root and mmdebstrap."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "functions/lib"))
from bed import Failed  # noqa: E402

CACHE = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "packages"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
SUITE = "bookworm"
INCLUDED = ["adduser", "iproute2"]
# Files in which package management remembers every package that was ever installed.
NOT_COMPARED = [
    "var/lib/dpkg",
    "var/log",
    "var/cache",
    "var/lib/apt",
    "etc/passwd-",
    "etc/group-",
    "etc/shadow-",
    "etc/gshadow-",
]
# Running programs have these.
MOUNTED = ["proc", "sys", "dev", "run", "tmp"]


def archive():
    """A fresh Debian 12, made once."""
    path = CACHE / f"{SUITE}-minbase.tar"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.tar")
        words = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(INCLUDED)}", SUITE, part, MIRROR]
        subprocess.run(words, check=True)
        part.rename(path)
    return path


class Tree:
    """The system; `with` removes it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / "system"

    def __enter__(self):
        self.folder.mkdir()
        subprocess.run(["tar", "-C", self.folder, "-xf", archive()], check=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def words(self, *words):
        """A command inside, with /proc, /sys and a private /run; what it mounts goes with it."""
        script = (
            'for kind in proc sysfs; do mount -t $kind $kind "$0/${kind%fs}"; done; root=$0; exec chroot "$root" "$@"'
        )
        return ["unshare", "--mount", "sh", "-ec", script, self.folder, *words]

    def run(self, *words):
        done = subprocess.run(self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, words))}: {done.returncode}: {done.stdout.strip()[-800:]}")
        return done.stdout

    def apt(self, *words):
        environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
        return self.run(*environment, "apt-get", "--quiet", "--yes", "--no-install-recommends", *words)

    def install(self, package):
        """Installs a package file as a user does, and gives what apt says."""
        shutil.copy(package, self.folder / "tmp" / package.name)
        return self.apt("install", f"/tmp/{package.name}")

    def files(self):
        """Path -> kind, mode, owner and content of everything that stays when nothing runs."""
        found = {}
        for path in self.folder.rglob("*"):
            name = str(path.relative_to(self.folder))
            if name.split("/")[0] in MOUNTED or any(name.startswith(one) for one in NOT_COMPARED):
                continue
            status = path.lstat()
            content = os.readlink(path) if path.is_symlink() else ""
            if path.is_file() and not path.is_symlink():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            found[name] = (oct(status.st_mode), status.st_uid, status.st_gid, content)
        return found


class Unit:
    """A systemd unit of a tree, as far as it says how a process starts: user, capabilities, folders, command line."""

    def __init__(self, tree, instance, name="forebay"):
        self.tree, self.instance = tree, instance
        text = (tree.folder / f"lib/systemd/system/{name}@.service").read_text().replace("%i", instance)
        lines = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
        self.values = {key: value for key, _, value in lines}

    def make_folders(self):
        """StateDirectory and RuntimeDirectory."""
        user = f"{self.values['User']}:{self.values['Group']}"
        for key, place in (("StateDirectory", "/var/lib"), ("RuntimeDirectory", "/run")):
            if key not in self.values:
                continue
            path = f"{place}/{self.values[key]}"
            self.tree.run("install", "-d", "-m", self.values[f"{key}Mode"], path)
            self.tree.run("chown", user, path)

    def words(self):
        """The command that starts it, inside of the tree."""
        given = self.values.get("AmbientCapabilities", "").split()
        names = [name.removeprefix("CAP_").lower() for name in given]
        capabilities = ",".join(["-all", *(f"+{name}" for name in names)])
        rights = [
            "--inh-caps",
            capabilities,
            "--ambient-caps",
            capabilities,
            "--bounding-set",
            capabilities,
            "--no-new-privs",
        ]
        user = ["--reuid", self.values["User"], "--regid", self.values["Group"], "--clear-groups"]
        return ["setpriv", *user, *rights, *self.command()]

    def command(self):
        """ExecStart, with the variables of the file that EnvironmentFile names."""
        command = self.values["ExecStart"]
        if file := self.values.get("EnvironmentFile"):
            lines = (self.tree.folder / file.lstrip("/")).read_text().splitlines()
            for name, _, value in (line.partition("=") for line in lines):
                command = command.replace(f"${{{name}}}", value).replace(f"${name}", value.strip('"'))
        return command.replace("$OPTIONS", "").split()
