#!/usr/bin/env python3
"""What `make book` makes a site of: README.md, and each page and file of the repository to which links lead from there,
at the places that they have in the repository.

mdbook renders only pages that SUMMARY.md names, below one folder, and calls a README.md `index.html` without changing the
links to it. So all pages are collected in one folder with a SUMMARY.md of their own, and a README.md is an `index.md`
there. A folder without a README.md is a page that lists its files. Links that lead nowhere, and pages to which no link
leads, end the command.
"""

import argparse
import collections
import pathlib
import posixpath
import re
import shutil
import sys

from documents import QUOTED_OR_LINK, ROOT, with_links

FIRST = "README.md"
# Folders whose pages come first in the table of contents.
PARTS = ["functions", "programs", "experiments"]
HEADING = re.compile(r"(?m)^#+ +(.+?) *$")
QUOTED = re.compile(r"(?ms)^```.*?^```$")


def links(text):
    """Target and anchor of every link and picture of a text."""
    for found in QUOTED_OR_LINK.finditer(text):
        if found[2] is not None:
            yield from links(found[2])
            yield found[3], (found[4] or "").removeprefix("#")


def text_of(page):
    """The text of a page; for a folder without a README.md, one that lists its files."""
    if (ROOT / page).exists():
        return (ROOT / page).read_text()
    folder = (ROOT / page).parent
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    title = f"# {posixpath.dirname(page)}\n\n"
    return title + "".join(f"- [{file}]({file})\n" for file in files if "__pycache__" not in file)


def anchors(text):
    """The names by which links find the headings of a page."""
    count = collections.Counter()
    for title in HEADING.findall(QUOTED.sub("", text)):
        words = re.sub(r"[^\w\- ]", "", QUOTED_OR_LINK.sub(r"\2", title).lower()).replace(" ", "-")
        yield f"{words}-{count[words]}" if count[words] else words
        count[words] += 1


def target_of(page, target):
    """The path in the repository to which a link of a page leads, or None. That of a folder is its README.md."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
    if path.startswith("..") or not (path == page or (ROOT / path).exists()):
        return None
    return f"{path}/README.md" if (ROOT / path).is_dir() else path


def collected(first):
    """Every path that a page and those behind it lead to, itself included, and what is wrong with links."""
    found, wrong, waiting = {}, [], [first]
    while waiting:
        page = waiting.pop()
        if page in found:
            continue
        found[page] = True
        for target, anchor in links(text_of(page)) if page.endswith(".md") else ():
            if ":" in target:
                continue
            path = target_of(page, target)
            if path is None:
                wrong.append(f"{page}: {target} does not exist")
            elif anchor and path.endswith(".md") and anchor not in anchors(text_of(path)):
                wrong.append(f"{page}: {target}#{anchor}: {path} has no such heading")
            else:
                waiting.append(path)
    return list(found), wrong


def place(path):
    """Where a path of the repository stands on the site."""
    return posixpath.join(posixpath.dirname(path), "index.md") if posixpath.basename(path) == "README.md" else path


def pages():
    """Every page that must be found from README.md."""
    found = list(ROOT.glob("*.md"))
    for folder in ("docs", "functions", "programs", "experiments", "benches", "tests"):
        found += (ROOT / folder).rglob("*.md")
    return {str(path.relative_to(ROOT)) for path in found} - {"docs/SUMMARY.md"}


def title(page):
    heading = HEADING.search(QUOTED.sub("", text_of(page)))
    return heading[1].replace("`", "") if heading else posixpath.basename(page)


def summary(places):
    """The table of contents: that of docs/, then the other pages by folder, the README.md of a folder first."""
    known = (ROOT / "docs" / "SUMMARY.md").read_text()
    chapters = re.sub(r"\]\(([^)]+)\)", lambda found: f"]({place('docs/' + found[1])})", known)
    chapters = chapters.replace("# Summary\n", f"# Summary\n\n[Forebay]({place(FIRST)})", 1)
    named = {FIRST, *(f"docs/{target}" for target, _ in links(known))}
    parts = collections.defaultdict(list)
    for path in sorted(places, key=lambda path: (posixpath.dirname(path), not path.endswith("/README.md"), path)):
        if path.endswith(".md") and path not in named:
            parts[path.split("/")[0] if "/" in path else "The repository"].append(path)
    for part in sorted(parts, key=lambda part: (PARTS.index(part) if part in PARTS else len(PARTS), part)):
        head = f"{part}/README.md"
        indents = {path: "  " if path != head and head in parts[part] else "" for path in parts[part]}
        chapters += f"\n# {part.capitalize()}\n\n"
        chapters += "".join(f"{indents[path]}- [{title(path)}]({places[path]})\n" for path in parts[part])
    return chapters


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR", help="a folder, which is made anew")
    out = parser.parse_args().out
    paths, wrong = collected(FIRST)
    wrong += [f"{page}: no link leads to it from {FIRST}" for page in pages() - set(paths)]
    if wrong:
        sys.exit("links of the documents:\n" + "\n".join(sorted(wrong)))
    places = {path: place(path) for path in paths}
    shutil.rmtree(out, ignore_errors=True)
    for path, there in places.items():
        file = out / "src" / there
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            file.write_text(with_links(text_of(path), path, places))
        else:
            shutil.copy(ROOT / path, file)
    (out / "src" / "SUMMARY.md").write_text(summary(places))
    for name in ("book.toml", "book.css"):
        shutil.copy(ROOT / "packaging" / name, out)


if __name__ == "__main__":
    main()
