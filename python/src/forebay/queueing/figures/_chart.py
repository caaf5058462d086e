"""One look for all charts: legends outside, units on axes, a palette for colour-blind readers, SVG and PDF.

A value from outside is a marker and a model a line of the same colour.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "axes", "finish", "legend", "shade"]

# Okabe and Ito, Color Universal Design, 2008; yellow is left out, since lines of it are hard to see.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

_STYLE: dict[str, Any] = {
    "figure.dpi": 100,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    # The same picture gives the same bytes.
    "svg.hashsalt": "forebay",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def axes(rows: int = 1, columns: int = 1, height: float = 3.4, **options: Any) -> tuple[Figure, Any]:
    """A figure of `rows` by `columns` charts; one chart is returned as such, more as an array of them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings: dict[Any, Any] = _STYLE
    matplotlib.rcParams.update(settings)
    size = (4.6 * columns + 2.0 * (columns == 1), height * rows)
    figure, charts = plt.subplots(rows, columns, figsize=size, layout="constrained", **options)
    return figure, charts


def shade(index: int, of: int) -> Any:
    """One of `of` colours in an order that grey print keeps: for N = 1 ... 8."""
    import matplotlib

    return matplotlib.colormaps["viridis"](0.92 * (of - 1 - index) / max(1, of - 1))


def legend(figure: Figure, chart: Axes, columns: int = 1) -> None:
    """The legend of one chart for all: right of them in one column, under them in more."""
    handles, labels = chart.get_legend_handles_labels()
    if columns == 1:
        figure.legend(handles, labels, loc="outside right center")
    else:
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def finish(figure: Figure, folder: Path, name: str, title: str, png: bool = False) -> None:
    """Write `name.svg` and `name.pdf`, and close the figure."""
    import matplotlib.pyplot as plt

    figure.suptitle(title, fontsize=11)
    formats = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    for kind, metadata in formats.items():
        figure.savefig(folder / f"{name}.{kind}", metadata=metadata)
    if png:
        figure.savefig(folder / f"{name}.png", dpi=110)
    plt.close(figure)
