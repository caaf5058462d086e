"""One switch without aggregation: M/M/1 and M/D/1 (Kleinrock, Queueing Systems 1, 1975, sections 3.2 and 5.6).

Rates are per unit of time, of the caller's choice; times come out in that unit.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from ._check import Array, non_negative, stable

__all__ = ["m_d_1_waiting_time", "m_g_1_waiting_time", "m_m_1_waiting_time"]


def m_g_1_waiting_time(message_rate: ArrayLike, service_rate: ArrayLike, squared_variation: ArrayLike) -> Array:
    """Mean waiting time of M/G/1 by the formula of Pollaczek and Khinchine.

    `squared_variation` is the variance of the service time over the square of its mean: 1 for exponential, 0 for fixed
    service. Arguments are scalars or arrays that broadcast; the result has their shape.

    Raises `UnstableQueueError` for a load of 1 or more, `ValueError` for other bad arguments.

    >>> round(float(m_g_1_waiting_time(1.0, 2.0, 0.5)), 6)
    0.375
    """
    _, arrival, service = stable(1, message_rate, service_rate)
    variation = non_negative("squared_variation", squared_variation)
    result: Array = arrival * (1 + variation) / (2 * service * (service - arrival))
    return result


def m_m_1_waiting_time(message_rate: ArrayLike, service_rate: ArrayLike) -> Array:
    """Mean waiting time of M/M/1: lambda / (mu (mu - lambda)), the paper's (12).

    >>> float(m_m_1_waiting_time(1.0, 2.0))
    0.5
    """
    return m_g_1_waiting_time(message_rate, service_rate, 1.0)


def m_d_1_waiting_time(message_rate: ArrayLike, service_rate: ArrayLike) -> Array:
    """Mean waiting time of M/D/1: lambda / (2 mu (mu - lambda)), the paper's (13).

    >>> float(m_d_1_waiting_time(1.0, 2.0))
    0.25
    """
    return m_g_1_waiting_time(message_rate, service_rate, 0.0)
