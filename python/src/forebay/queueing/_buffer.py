"""How many N-packets wait, and what a buffer of a few places loses: the paper's buffer of about one packet."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from scipy.special import gammaln

from ._check import Array, choice, count, fraction, order, positive, stable
from ._e_n_m_1 import e_n_m_1_root
from ._m_d_c import VALUES_MAX, messages_waiting
from ._minimal_rate import SERVICES, Service

__all__ = ["loss_with_buffer", "places_for_loss", "waiting_distribution"]

# No system of linear equations is larger.
_STATES_MAX = 2048


def waiting_distribution(n: int, message_rate: float, service_rate: float, service: Service = "exponential") -> Array:
    """Stationary probabilities that 0, 1, 2, ... N-packets wait, the one in service not counted.

    One-dimensional, as far as the probabilities are above 1e-15. By Little's law the mean is lambda / N times E[t_W].

    >>> [round(float(p), 4) for p in waiting_distribution(1, 1.0, 2.0)[:4]]
    [0.75, 0.125, 0.0625, 0.0312]
    >>> [round(float(p), 4) for p in waiting_distribution(1, 1.0, 2.0, "fixed")[:4]]
    [0.8244, 0.1226, 0.0378, 0.0109]
    """
    n, arrival, mu = stable(n, message_rate, service_rate)
    choice("service", service, SERVICES)
    if service == "fixed":
        return _packets_of(n, messages_waiting(n, float(arrival / mu)))
    x, load = float(e_n_m_1_root(n, arrival, mu)), float(arrival / (n * mu))
    length = max(1, int(np.ceil(np.log(1e-15) / np.log(x))))
    if length > VALUES_MAX:
        raise ValueError(f"load = {load:.9g} must be farther below 1: the number in queue has over {VALUES_MAX} values")
    result: Array = load * (1 - x) * x ** np.arange(length, dtype=np.float64)
    result[0] = 1 - load * x
    return result


def loss_with_buffer(
    n: int, message_rate: float, service_rate: float, places: int, service: Service = "exponential"
) -> float:
    """Share of N-packets lost when `places` can wait beside the one in service. A load of 1 or more is allowed.

    The chain of messages present (waiting N-packets times N, and the messages of the next one) at the beginnings of
    service is solved exactly. For `places` = 0 and fixed service this is G/D/1/1.

    >>> round(loss_with_buffer(1, 1.0, 1.0, 0), 6), round(loss_with_buffer(1, 1.0, 1.0, 1, "fixed"), 6)
    (0.5, 0.268941)
    """
    n = order(n)
    places = count("places", places, minimum=0, maximum=_STATES_MAX // n - 1)
    a = float(positive("message_rate", message_rate)) / float(positive("service_rate", service_rate))
    choice("service", service, SERVICES)
    coming = _messages_in_service(a, service)
    states = n * (places + 1)
    matrix, lost = np.zeros((states, states)), np.zeros(states)
    for begin in range(states):
        present = begin + np.arange(coming.size)
        packets = present // n
        lost[begin] = float((coming * np.maximum(packets - places, 0)).sum())
        kept = np.minimum(packets, places)
        # The next service takes one of those that wait, or the first that is complete.
        after = np.where(kept > 0, (kept - 1) * n + present % n, 0)
        np.add.at(matrix[begin], after, coming)
    # What is left by rounding may be less than nothing.
    mean_lost = max(float(_stationary(matrix) @ lost), 0.0)
    return mean_lost / (1 + mean_lost)


def places_for_loss(
    n: int, message_rate: float, service_rate: float, loss: float, service: Service = "exponential"
) -> int:
    """The fewest waiting places with which at most the share `loss` of N-packets is lost.

    >>> places_for_loss(8, 1.0, 0.3, 1e-3, "fixed")
    1
    """
    n, arrival, mu = stable(n, message_rate, service_rate)
    loss = fraction("loss", loss)
    most = _STATES_MAX // n - 1

    def enough(places: int) -> bool:
        return loss_with_buffer(n, float(arrival), float(mu), places, service) <= loss

    high = 0
    while not enough(high):
        if high == most:
            raise ValueError(f"loss = {loss:g} must be larger: {most} waiting places are not enough")
        high = min(2 * high + 1, most)
    return bisect_left(range(high), True, key=enough)


def _packets_of(n: int, messages: Array) -> Array:
    """N-packets that wait at one of N servers that take messages in turn: of j messages floor or ceiling of j / N.

    The last message that came belongs to each server with the same chance.
    """
    index = np.arange(messages.size)
    high_share = (index % n) / n
    result: Array = np.zeros(messages.size // n + 2)
    np.add.at(result, index // n, messages * (1 - high_share))
    np.add.at(result, index // n + 1, messages * high_share)
    return result[: int(np.flatnonzero(result)[-1]) + 1]


def _messages_in_service(a: float, service: Service) -> Array:
    """Probabilities of 0, 1, 2, ... messages during one service, a on average; the rest, below 1e-17, at the last."""
    values = 1 + np.log(1e-17) / -np.log1p(1 / a) if service == "exponential" else a + 12 * np.sqrt(a) + 40
    if values > VALUES_MAX:
        raise ValueError(
            f"message_rate / service_rate = {a:g} must be less: a number of messages has over {VALUES_MAX} values"
        )
    number = np.arange(int(np.ceil(values)))
    if service == "exponential":
        probabilities: Array = np.exp(-number * np.log1p(1 / a)) / (1 + a)
    else:
        probabilities = np.exp(number * np.log(a) - a - gammaln(number + 1.0))
    probabilities[-1] += 1 - probabilities.sum()
    return probabilities


def _stationary(matrix: Array) -> Array:
    """The row vector p with p = p matrix and sum 1."""
    equations = (np.eye(matrix.shape[0]) - matrix).T
    equations[-1] = 1.0
    right = np.zeros(matrix.shape[0])
    right[-1] = 1.0
    return np.asarray(np.linalg.solve(equations, right), dtype=np.float64)
