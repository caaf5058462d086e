#!/usr/bin/env python3
"""Draws a record of measure.py, which comes by standard input.

Above, goodput over arrivals of all contenders; below, the controllers alone, as Figure 12 of the paper has them.
"""

import argparse
import json
import sys

import matplotlib
import results

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

# Okabe and Ito, Color Universal Design, 2008.
COLOURS = {"forebay": "#0072B2", "c": "#009E73", "python": "#E69F00", "controllers": "#D55E00"}
MARKERS = {1: "o", 2: "^", 4: "s", 8: "D"}
PUBLISHED_LIMIT_MBPS = 1
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    # The same picture gives the same bytes.
    "svg.hashsalt": "forebay",
    "svg.fonttype": "none",
}


def curve(points, stages, contender, n):
    """Arrivals and goodput in Mbps of payload."""
    rows = [row for row in points if (row["stages"], row["contender"], row["n"]) == (stages, contender, n)]
    return [results.arrival_mbps(row) for row in rows], [row["goodput_mbps"] for row in rows]


def draw_all(chart, record, stages):
    """Every contender, for the smallest and the largest N."""
    orders = sorted({row["n"] for row in record["points"]})
    for contender, label in record["labels"].items():
        for n in sorted({orders[0], orders[-1]}):
            arrivals, goodput = curve(record["points"], stages, contender, n)
            style = "--" if n == orders[0] else "-"
            chart.loglog(
                arrivals, goodput, MARKERS.get(n, "x") + style, color=COLOURS[contender], label=f"{label}, N = {n}"
            )
    for axis in (chart.xaxis, chart.yaxis):
        axis.set_minor_formatter(NullFormatter())
    limits = chart.get_xlim()
    chart.loglog(limits, limits, color="#999999", linewidth=0.8, label="all that arrives")
    chart.set_xlim(limits)
    chart.axhline(PUBLISHED_LIMIT_MBPS, color="#000000", linestyle=":", label="published: controllers stay below")


def draw_controllers(chart, record, stages):
    """Controllers for every N, up to twice the goodput that the best of them reaches."""
    orders = sorted({row["n"] for row in record["points"] if row["contender"] == "controllers"})
    highest = 0
    for index, n in enumerate(orders):
        arrivals, goodput = curve(record["points"], stages, "controllers", n)
        colour = matplotlib.colormaps["viridis"](0.92 * (len(orders) - 1 - index) / max(1, len(orders) - 1))
        chart.plot(arrivals, goodput, "o-", color=colour, label=f"controllers, N = {n}")
        highest = max([highest, *goodput])
    if highest:
        chart.set_xlim(0, 4 * highest)
        chart.set_ylim(0, 1.1 * highest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", metavar="FILE.svg")
    options = parser.parse_args()
    record = json.load(sys.stdin)
    stages = list(dict.fromkeys(row["stages"] for row in record["points"]))
    controllers = any(row["contender"] == "controllers" for row in record["points"])
    plt.rcParams.update(STYLE)
    rows = 2 if controllers else 1
    figure, charts = plt.subplots(
        rows, len(stages), figsize=(3.6 * len(stages) + 2.4, 3.2 * rows), layout="constrained", squeeze=False
    )
    for column, name in enumerate(stages):
        draw_all(charts[0][column], record, name)
        charts[0][column].set_title(name)
        if controllers:
            draw_controllers(charts[1][column], record, name)
        for row in charts:
            row[column].set_xlabel("arriving payload (Mbps)")
            row[column].set_ylabel("goodput (Mbps of payload)")
    for row in charts:
        row[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.suptitle("Goodput of aggregation and disaggregation in software")
    figure.savefig(options.figure, metadata={"Date": None})


if __name__ == "__main__":
    main()
