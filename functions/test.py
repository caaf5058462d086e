#!/usr/bin/env python3
"""Runs the functions' end-to-end tests and those of their control programs, and checks the share of specialised code.

    functions/test.py [--strict] [FUNCTION...]

Needs root. Python packages come from PyPI into target/functions. Without PyPI the tests run with the installed
packages, and skip parts that need others. With --strict a skipped part is a failure, for machines that have everything.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
ENVIRONMENT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "functions"
PACKAGES = ["scapy==2.8.0", "finsy==0.30"]


def python():
    """A Python that has the packages, or the one at hand."""
    interpreter = ENVIRONMENT / "bin" / "python"
    if (ENVIRONMENT / "complete").exists():
        return interpreter
    pip = [interpreter, "-m", "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
    for words in ([sys.executable, "-m", "venv", ENVIRONMENT], [*pip, "install", "-q", *PACKAGES]):
        if subprocess.run(words).returncode != 0:
            print(f"packages are missing: {', '.join(PACKAGES)}; the tests run without them")
            return sys.executable
    (ENVIRONMENT / "complete").touch()
    return interpreter


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strict", action="store_true", help="a part that cannot be tested here is a failure")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION")
    arguments = parser.parse_args()
    if arguments.strict:
        # Read by `skip` in lib/bed.py.
        os.environ["FOREBAY_STRICT"] = "1"
    names = arguments.functions or sorted({path.parent.name for path in HERE.glob("*/test_*.py")})
    interpreter = python()
    failed = []
    for name in names:
        scripts = sorted(HERE.glob(f"{name}/test_*.py"))
        if not scripts:
            raise SystemExit(f"{name}: no such function, or one without tests of this kind")
        commands = [[interpreter, script] for script in scripts]
        if name != "lib" and (HERE / name / "measure.py").exists():
            commands.append([interpreter, HERE / "measure.py", name, "--share"])
        if any([subprocess.run(command).returncode != 0 for command in commands]):
            failed.append(name)
    print(
        f"{len(names) - len(failed)} passed or skipped, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
