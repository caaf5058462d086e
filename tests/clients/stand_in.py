"""Forebay behind the command lines of p4c and simple_switch_grpc, for p4net."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FOREBAY = os.environ["FOREBAY"]


def value(words, option):
    return words[words.index(option) + 1]


def p4c(words):
    """The three calls that p4net makes: the version, preprocessing, compiling."""
    if "--version" in words:
        print("p4c 1.2.5 (forebay)")
        return
    source = pathlib.Path(words[-1])
    folder = pathlib.Path(value(words, "-o"))
    if "-E" in words:
        shutil.copy(source, folder / f"{source.stem}.p4i")
        return
    with tempfile.TemporaryDirectory() as built:
        subprocess.run([FOREBAY, "build", str(source), "-o", built], check=True, stdout=subprocess.DEVNULL)
        shutil.copy(f"{built}/ir.txt", folder / f"{source.stem}.json")
        shutil.copy(f"{built}/p4info.txtpb", value(words, "--p4runtime-files"))


if sys.argv[1] == "p4c":
    p4c(sys.argv[2:])
else:
    os.execv(FOREBAY, [FOREBAY, "simple-switch", *sys.argv[2:]])
