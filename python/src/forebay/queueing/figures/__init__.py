"""Tables and charts of every equation, figure and claim of the queueing paper: `python -m forebay.queueing figures`.

Each module has one figure or table: a function that computes rows, one that draws them. `claims` draws the conclusions.
"""

from ._command import write_figures
from ._effort import FULL, NORMAL, QUICK, Effort

__all__ = ["FULL", "NORMAL", "QUICK", "Effort", "write_figures"]
