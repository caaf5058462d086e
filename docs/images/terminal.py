#!/usr/bin/env python3
"""Draws text that a command printed as a picture of a terminal: terminal.py OUT.svg < TEXT

    forebay trace docs/tutorial/filter.p4 --entries docs/tutorial/filter.stf --port 2 --hex … \\
        | docs/images/terminal.py docs/images/trace.svg --title 'forebay trace filter.p4 …' --lines 28-45
"""

import argparse
import html
import re
import sys

CHARACTER, LINE, MARGIN, BAR = 7.8, 19, 16, 34
COLOURS = [
    (re.compile(r"^\S+\.p4:\d+"), "#7aa2f7"),
    (re.compile(r"=> .*|: miss$|is false$"), "#f7768e"),
    (re.compile(r": hit$|is true$"), "#9ece6a"),
    (re.compile(r"0x[0-9a-f]+( \(\d+\))?"), "#e0af68"),
    (re.compile(r"\b(parser|control|state|table|extract|select)\b"), "#bb9af7"),
]


def spans(line):
    """A line as SVG text with coloured parts."""
    found = sorted(
        (match.start(), match.end(), colour) for pattern, colour in COLOURS for match in pattern.finditer(line)
    )
    text, at = "", 0
    for start, end, colour in found:
        if start < at:
            continue
        text += html.escape(line[at:start]) + f'<tspan fill="{colour}">{html.escape(line[start:end])}</tspan>'
        at = end
    return text + html.escape(line[at:])


def picture(lines, title):
    """All of the SVG."""
    width = 2 * MARGIN + CHARACTER * max(map(len, [*lines, title + " " * 12]))
    height = BAR + 2 * MARGIN + LINE * len(lines)
    rows = "".join(
        f'<text x="{MARGIN}" y="{BAR + MARGIN + LINE * (row + 0.75):.0f}" xml:space="preserve">{spans(line)}</text>\n'
        for row, line in enumerate(lines)
    )
    dots = "".join(f'<circle cx="{18 + 18 * i}" cy="17" r="5" fill="#565f89"/>' for i in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{html.escape(title)}">\n'
        f'<rect width="100%" height="100%" rx="8" fill="#1a1b26"/>{dots}\n'
        f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13" fill="#c0caf5">\n'
        f'<text x="80" y="22" fill="#a9b1d6">{html.escape(title)}</text>\n{rows}</g>\n</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--title", default="")
    parser.add_argument("--lines", help="FIRST-LAST, counted from 1; all of them without it")
    arguments = parser.parse_args()
    lines = sys.stdin.read().rstrip("\n").split("\n")
    if arguments.lines:
        first, last = map(int, arguments.lines.split("-"))
        lines = lines[first - 1 : last]
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write(picture(lines, arguments.title))


if __name__ == "__main__":
    main()
