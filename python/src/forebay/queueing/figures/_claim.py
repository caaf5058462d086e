"""A claim of the paper, and whether it holds."""

from __future__ import annotations

from ._table import Row, Table

__all__ = ["HOLDS", "NOT", "OPEN", "PARTLY", "Tables", "claim", "number"]

Tables = dict[str, Table]

HOLDS, PARTLY, NOT, OPEN = "holds", "partly", "does not hold", "not compared"


def claim(where: str, published: str, found: str, verdict: str, data: str) -> Row:
    """A row of the claims: equation, figure or section; what is published; what was found; whether it holds; the table with the data."""
    return {"where": where, "published": published, "found": found, "verdict": verdict, "data": data}


def number(row: Row, key: str) -> float:
    """A number of a row."""
    value = row[key]
    assert isinstance(value, (int, float))
    return float(value)
