#!/usr/bin/env python3
"""The documents that are installed: every link in them leads to an installed file, and every page that `--help` names
is there. The pages of the site (`make book`): every link in them leads to a page or file of the site. The documents of
the repository: Forebay understands every command line in them. Needs no rights.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import documents  # noqa: E402
import tree  # noqa: E402

PAGES = ["*.md", "docs/*.md", "[fp]*/*.md", "[fp]*/*/*.md", "experiments/README.md", "benches/*/*.md", "tests/*/*.md"]
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)")


def check(condition, what):
    if not condition:
        raise SystemExit(f"  FAILED: {what}")
    print(f"  ok: {what}")


def dead_links(top):
    """Each page and target, of links to files that are not there."""
    for page in sorted(top.rglob("*.md")):
        quoted = re.compile(r"(?ms)^```.*?^```$")
        for target in LINK.findall(quoted.sub("", page.read_text())):
            if not (page.parent / target).exists():
                yield f"{page.relative_to(top)}: {target}"


def help_of_all(forebay):
    """What `--help` says of every command."""
    said = lambda *words: subprocess.run([forebay, *words, "--help"], check=True, capture_output=True, text=True).stdout  # noqa: E731
    commands = re.findall(r"(?m)^  ([a-z][\w-]+) ", said().split("Commands:")[1].split("Options:")[0])
    return "".join(said(command) for command in commands if command != "help")


def commands_of(page):
    """The command lines of Forebay in the blocks of a page, without what follows a pipe or comment; those with
    placeholders left out."""
    for block in re.findall(r"(?ms)^```\w*\n(.*?)^```", page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            words = shlex.split(line, comments=True) if line.startswith("forebay ") else []
            ends = [place for place, word in enumerate(words) if word in ("|", "<", ">", "&", "&&", "--")]
            words = words[: min(ends, default=len(words))]
            if words and not any(re.search("…|\\.\\.\\.|^[A-Z]{2,}$", word) for word in words):
                yield words[1:]


def not_understood(forebay):
    """Each page and command line that the executable does not take: with `--help` at the end it parses what is before,
    and does nothing."""
    for page in (path for pattern in PAGES for path in sorted(ROOT.glob(pattern))):
        for words in commands_of(page):
            if subprocess.run([forebay, *words, "--help"], capture_output=True).returncode:
                yield f"{page.relative_to(ROOT)}: forebay {' '.join(words)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("forebay", type=pathlib.Path, metavar="FOREBAY")
    forebay = parser.parse_args().forebay.resolve()
    with tempfile.TemporaryDirectory() as folder:
        top = tree.install(forebay, folder, "/usr")
        dead = list(dead_links(top))
        check(not dead, f"no link of an installed page is dead {dead[:5] or ''}".rstrip())
        book = top / "book"
        subprocess.run([sys.executable, ROOT / "packaging" / "book.py", "--out", book], check=True)
        dead = list(dead_links(book / "src"))
        check(not dead, f"no link of the site is dead {dead[:5] or ''}".rstrip())
        tutorial = subprocess.run(
            [top / "bin/forebay", "test", "--quiet", "docs/tutorial/filter.p4"], cwd=top / "share/forebay"
        )
        check(tutorial.returncode == 0, "the tutorial's program is installed, and passes its test")
        scenario = re.search(r"(?ms)^```toml\n(.*?)^```", (ROOT / "docs/scenarios.md").read_text())[1]
        (top / "share/forebay/scenario.toml").write_text(scenario)
        simulated = subprocess.run(
            [top / "bin/forebay", "sim", "scenario.toml"], cwd=top / "share/forebay", stdout=subprocess.DEVNULL
        )
        check(simulated.returncode == 0, "the smallest scenario of the documents runs where it is to be saved")
        wrong = list(not_understood(forebay))
        check(not wrong, f"every command line of the documents is understood {wrong[:5] or ''}".rstrip())
        named = sorted(set(re.findall(r"docs/[\w-]+\.md", help_of_all(forebay))))
        absent = [page for page in named if not (top / documents.HOME / page).exists()]
        check(named and not absent, f"all {len(named)} pages that --help names are installed {absent or ''}".rstrip())


if __name__ == "__main__":
    main()
