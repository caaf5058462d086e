"""A simulated mean and its confidence interval, by batch means (Law, Simulation Modeling and Analysis, chapter 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from ._check import fraction, non_negative

__all__ = ["Estimate", "batch_means", "controlled_means"]


@dataclass(frozen=True)
class Estimate:
    """A mean, and half the width of its confidence interval in the same unit."""

    mean: float
    half_width: float
    packets: int
    confidence: float = 0.95

    @property
    def relative_half_width(self) -> float:
        """Half width over mean."""
        return self.half_width / abs(self.mean) if self.mean else float("inf")

    def discrepancy(self, expected: float) -> float:
        """mean / expected - 1."""
        return self.mean / expected - 1

    def contains(self, expected: float) -> bool:
        """Whether the interval contains `expected`."""
        return abs(self.mean - expected) <= self.half_width


def controlled_means(means: ArrayLike, controls: ArrayLike, packets: int, confidence: float = 0.95) -> Estimate:
    """The estimate from batch means and `controls`, other means of the same batches whose expectation is 0.

    `means` has a shape of (batches,), `controls` of (batches, k). What the controls explain of the differences between
    batches, by linear regression, is taken out of the mean and of the interval (Lavenberg and Welch, Management Science
    27, 1981): the estimate is the regression's value where the controls are 0.

    >>> controlled_means([3.1, 0.9, 2.0, 2.1], [[1.0], [-1.0], [0.0], [0.0]], packets=40).half_width < 0.2
    True
    """
    array, matrix = non_negative("means", means), np.asarray(controls, dtype=np.float64)
    confidence = fraction("confidence", confidence)
    if array.ndim != 1 or matrix.ndim != 2 or matrix.shape[0] != array.size or array.size < matrix.shape[1] + 3:
        raise ValueError(
            f"controls has shape {matrix.shape} and means {array.shape}; they must be (batches, k) and (batches,) with at "
            "least k + 3 batches"
        )
    centred = matrix - matrix.mean(axis=0)
    slopes = np.linalg.lstsq(centred, array - array.mean(), rcond=None)[0]
    freedom = array.size - 1 - matrix.shape[1]
    residual = array - array.mean() - centred @ slopes
    # The slopes are estimated too, which counts the more the farther the controls' means are from 0.
    weights = np.linalg.lstsq(centred.T, matrix.mean(axis=0), rcond=None)[0]
    error = float(np.sqrt(residual @ residual / freedom * (1 / array.size + weights @ weights)))
    quantile = float(student.ppf((1 + confidence) / 2, freedom))
    return Estimate(float(array.mean() - matrix.mean(axis=0) @ slopes), quantile * error, packets, confidence)


def batch_means(means: ArrayLike, packets: int, confidence: float = 0.95) -> Estimate:
    """The estimate from means of equally long batches: one-dimensional, at least 2.

    >>> batch_means([1.0, 3.0], packets=20).mean
    2.0
    """
    array = non_negative("means", means)
    confidence = fraction("confidence", confidence)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"means has shape {array.shape}; it must be one-dimensional with at least 2 elements")
    error = float(array.std(ddof=1)) / np.sqrt(array.size)
    quantile = float(student.ppf((1 + confidence) / 2, array.size - 1))
    return Estimate(float(array.mean()), float(quantile * error), packets, confidence)
