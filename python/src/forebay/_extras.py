"""Packages that only a part of this one needs."""

from importlib import import_module
from typing import Any

__all__ = ["needed"]


def needed(extra: str, *modules: str) -> list[Any]:
    """Modules of packages that an extra installs.

    >>> needed("parquet", "no_such_package")
    Traceback (most recent call last):
    ModuleNotFoundError: no_such_package is missing: pip install 'forebay[parquet]'
    """
    try:
        return [import_module(module) for module in modules]
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error.name} is missing: pip install 'forebay[{extra}]'", name=error.name
        ) from error
