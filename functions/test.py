#!/usr/bin/env python3
"""Runs the functions' end-to-end tests and those of their control programs, and checks the share of specialised code.

    functions/test.py [--strict] [--jobs N] [FUNCTION...]

Needs root. Python packages come from PyPI into target/functions. Without PyPI the tests run with the installed
packages, and skip parts that need others. With --strict a skipped part is a failure, for machines that have everything.
A function that fails is tested once more, alone and with a message: its hosts keep their own time, however busy the
machine is. After a second failure the exit code is 1.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
ENVIRONMENT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "functions"
PACKAGES = ["scapy==2.8.0", "finsy==0.30", "opentelemetry-proto==1.45.2"]


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


def commands(name, interpreter):
    """What tests a function, in this order."""
    scripts = sorted(HERE.glob(f"{name}/test_*.py"))
    if not scripts:
        raise SystemExit(f"{name}: no such function, or one without tests of this kind")
    words = [[interpreter, script] for script in scripts]
    if name != "lib" and (HERE / name / "measure.py").exists():
        words.append([interpreter, HERE / "measure.py", name, "--share"])
    return words


def passes(tests, wait):
    """Whether all tests of a function pass. With `wait` their output is shown when all have ended, in one piece."""
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if wait else {}
    done = [subprocess.run(test, **output) for test in tests]
    if wait:
        sys.stdout.buffer.write(b"".join(test.stdout for test in done))
        sys.stdout.flush()
    return all(test.returncode == 0 for test in done)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strict", action="store_true", help="a part that cannot be tested here is a failure")
    jobs = min(os.cpu_count() or 1, 4)
    parser.add_argument("--jobs", type=int, default=jobs, help=f"functions tested at the same time; {jobs} unless told")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error("--jobs: at least 1")
    if arguments.strict:
        # Read by `skip` in lib/bed.py.
        os.environ["FOREBAY_STRICT"] = "1"
    names = arguments.functions or sorted({path.parent.name for path in HERE.glob("*/test_*.py")})
    interpreter = python()
    tests = [commands(name, interpreter) for name in names]
    wait = arguments.jobs > 1 and len(names) > 1
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        passed = list(pool.map(lambda test: passes(test, wait), tests))
    first = [(name, test) for name, test, good in zip(names, tests, passed, strict=True) if not good]
    failed = []
    for name, test in first:
        print(f"{name}: failed; tested once more, alone", flush=True)
        if passes(test, wait=False):
            print(f"{name}: passed at the second attempt", flush=True)
        else:
            failed.append(name)
    print(
        f"{len(names) - len(failed)} passed or skipped, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
