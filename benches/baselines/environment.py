"""Requirements of the measurement beside Forebay: a Python with os-ken and matplotlib, and two C programs."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")).absolute()
FOLDER = TARGET / "baselines"
PACKAGES = ["os-ken==4.2.2", "matplotlib>=3.8"]


def python(*modules):
    """A Python that has the modules: this one, or one that is made at the first call; None when that fails."""
    if all(importlib.util.find_spec(module) for module in modules):
        return sys.executable
    interpreter = FOLDER / "venv/bin/python"
    complete = FOLDER / "venv/complete"
    if not complete.exists():
        pip = [interpreter, "-m", "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
        for words in ([sys.executable, "-m", "venv", FOLDER / "venv"], [*pip, "install", "-q", *PACKAGES]):
            if subprocess.run(words, stdout=sys.stderr).returncode != 0:
                return None
        complete.touch()
    return interpreter


def compiled(name):
    """A C program of this folder, compiled again when its source is newer."""
    program, source = FOLDER / name, HERE / f"{name}.c"
    sources = (source, HERE / "iot_format.h")
    if not program.exists() or program.stat().st_mtime < max(file.stat().st_mtime for file in sources):
        FOLDER.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CC", "cc")
        if subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-o", program, source]).returncode != 0:
            raise SystemExit(f"{source} cannot be compiled: apt-get install gcc libc6-dev")
    return program
