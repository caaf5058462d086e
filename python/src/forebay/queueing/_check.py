"""Checks of arguments: every public function refuses bad input with a `ValueError` that names parameter, value and range."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "N_MAX",
    "Array",
    "UnstableQueueError",
    "choice",
    "count",
    "each",
    "fraction",
    "non_negative",
    "order",
    "positive",
    "stable",
]

Array = NDArray[np.float64]
"""Result type of the package: float64; for scalar arguments a NumPy scalar, which behaves like a `float`."""


N_MAX = 1000
"""Most messages in an N-packet: far more than fit into any frame. It bounds time and memory of every function."""


class UnstableQueueError(ValueError):
    """The load is 1 or more, so the queue grows without bound and has no stationary waiting time."""


def count(name: str, value: int, minimum: int = 1, maximum: int | None = None) -> int:
    """`value` as an integer of at least `minimum` and at most `maximum`."""
    allowed = f"an integer >= {minimum}" + ("" if maximum is None else f" and <= {maximum}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} = {value!r} must be {allowed}") from None
    if isinstance(value, bool) or number < minimum or (maximum is not None and number > maximum):
        raise ValueError(f"{name} = {value!r} must be {allowed}")
    return number


def order(n: int) -> int:
    """N, the messages in an N-packet."""
    return count("n", n, maximum=N_MAX)


def positive(name: str, value: ArrayLike) -> Array:
    """`value` as an array of finite numbers above 0."""
    return _within(name, value, "a finite number > 0", lambda array: array > 0)


def non_negative(name: str, value: ArrayLike) -> Array:
    """`value` as an array of finite numbers of 0 or more."""
    return _within(name, value, "a finite number >= 0", lambda array: array >= 0)


def fraction(name: str, value: float) -> float:
    """`value` as a number between 0 and 1, both excluded."""
    return float(_within(name, value, "a number > 0 and < 1", lambda array: (array > 0) & (array < 1)))


def choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """`value`, which is one of `allowed`."""
    if value not in allowed:
        raise ValueError(f"{name} = {value!r} must be one of {', '.join(map(repr, allowed))}")
    return value


def stable(n: int, message_rate: ArrayLike, service_rate: ArrayLike) -> tuple[int, Array, Array]:
    """The checked arguments of a queue of N-packets, which is stable: `message_rate / n < service_rate`."""
    n = order(n)
    message_rate, service_rate = np.broadcast_arrays(
        positive("message_rate", message_rate), positive("service_rate", service_rate)
    )
    load = message_rate / (n * service_rate)
    if np.any(load >= 1):
        worst = int(np.argmax(load))
        raise UnstableQueueError(
            f"unstable queue: service_rate = {service_rate.flat[worst]:g} must be > message_rate / n = "
            f"{message_rate.flat[worst] / n:g} N-packets per unit of time (load {load.flat[worst]:g}, must be < 1)"
        )
    return n, message_rate, service_rate


def each(function: Callable[..., float], *arrays: Array) -> Array:
    """`function` of each element of `arrays`, which have been broadcast together."""
    broadcast = np.broadcast_arrays(*arrays)
    values = [function(*map(float, elements)) for elements in zip(*(array.flat for array in broadcast), strict=True)]
    result: Array = np.asarray(values, dtype=np.float64).reshape(broadcast[0].shape)[()]
    return result


def _within(name: str, value: ArrayLike, allowed: str, test: Callable[[Array], Any]) -> Array:
    try:
        array: Array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {value!r} must be {allowed}") from None
    good = np.isfinite(array) & test(array)
    if not np.all(good):
        wrong = array[~good].flat[0] if array.ndim else float(array)
        shown = "nan" if math.isnan(wrong) else f"{wrong:g}"
        raise ValueError(f"{name} = {shown} must be {allowed}")
    return array
