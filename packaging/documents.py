"""The documents among the installed files: those that users read, with links that lead to what is installed.

`forebay COMMAND --help` names pages of docs/, so all of them are installed, at the places that they have in the
repository:

    share/doc/forebay/README.md, ..., docs/*.md
    share/doc/forebay/examples       configurations, manifests, a descriptor
    share/forebay/functions          pages beside functions and programs (tree.py)

A link to a file that is not installed (sources, measurements) is replaced by its text.
"""

import pathlib
import posixpath
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
HOME = "share/doc/forebay"
PAGES = ["README.md", "CHANGELOG.md", "LICENSE", "LIMITATIONS.md", "DEVIATIONS.md", "SECURITY.md"]
PICTURES = ["docs/images/trace.svg"]
# Configurations are for /etc/forebay; the others are for orchestrators.
EXAMPLES = ["packaging/examples/*.toml", "packaging/kubernetes/*.yaml", "packaging/containerlab/*.yml", "packaging/etsi/*.yaml"]
# A block of quoted text, in which nothing is a link; or a link, or a picture.
QUOTED_OR_LINK = re.compile(r"(?ms)^```.*?^```$|(?<![\w\]`])(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def places(data):
    """Path in the repository -> path under the prefix, of every installed file that a document may name. `data`: those
    of share/forebay."""
    pages = [*PAGES, *PICTURES, *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
    pages.remove("docs/SUMMARY.md")
    found = {page: f"{HOME}/{page}" for page in pages}
    for pattern in EXAMPLES:
        found |= {str(path.relative_to(ROOT)): f"{HOME}/examples/{path.name}" for path in sorted(ROOT.glob(pattern))}
    return found | {str(path): f"share/forebay/{path}" for path in data}


def with_links(text, page, installed):
    """The text of a page, as it is installed."""
    folder = posixpath.dirname(installed[page])

    def replace(found):
        picture, label, target, anchor = found[1], found[2], found[3], found[4] or ""
        if label is None or not target or ":" in target:
            return found[0]
        if picture == "" and label.startswith("!["):
            label = QUOTED_OR_LINK.sub(replace, label)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        place = installed.get(path) or installed.get(f"{path}/README.md")
        if place:
            return f"{picture}[{label}]({posixpath.relpath(place, folder)}{anchor})"
        return "" if picture else label

    return QUOTED_OR_LINK.sub(replace, text)


def files(data):
    """Path under the prefix, path in the repository, and content, of every document; so of the pages among `data`."""
    installed = places(data)
    for page, place in installed.items():
        if page.endswith(".md"):
            yield place, page, with_links((ROOT / page).read_text(), page, installed).encode()
        elif place.startswith(HOME):
            yield place, page, (ROOT / page).read_bytes()
