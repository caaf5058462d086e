"""The same queues in Ciw, a simulator that is none of ours (Palmer et al., Journal of Simulation 13, 2019).

About 20,000 N-packets a second. Ciw is an optional dependency: `pip install forebay[ciw]`.
"""

from __future__ import annotations

import numpy as np

from ._check import choice, count, stable
from ._estimate import Estimate, controlled_means
from ._minimal_rate import SERVICES, Service
from ._simulate import step_means

__all__ = ["simulate_waiting_time_ciw"]

_BATCHES = 32


def simulate_waiting_time_ciw(
    n: int,
    message_rate: float,
    service_rate: float,
    service: Service = "exponential",
    packets: int = 100_000,
    seed: int = 1,
) -> Estimate:
    """Mean wait of `packets` N-packets by Ciw, with a 95 % confidence interval of 32 batch means.

    A twentieth of them warms up. Control variates as in `simulate_waiting_time` narrow the interval, computed from the
    arrivals and service times of Ciw's records. Arguments as of `simulate_waiting_time`. Raises `ImportError` where Ciw is missing.
    """
    n, arrival, mu = stable(n, message_rate, service_rate)
    choice("service", service, SERVICES)
    packets = count("packets", packets, minimum=_BATCHES)
    try:
        import ciw
    except ImportError as error:
        raise ImportError("Ciw is missing: pip install 'forebay[ciw]'") from error
    distributions = ciw.dists
    serving = (
        distributions.Exponential(rate=float(mu))
        if service == "exponential"
        else distributions.Deterministic(1 / float(mu))
    )
    network = ciw.create_network(
        arrival_distributions=[distributions.Erlang(rate=float(arrival), num_phases=n)],
        service_distributions=[serving],
        number_of_servers=[1],
    )
    ciw.seed(count("seed", seed, minimum=0))
    simulation = ciw.Simulation(network)
    warm_up = 1 + packets // 20
    simulation.simulate_until_max_customers(packets + warm_up + 1, method="Finish")
    records = sorted(simulation.get_all_records(), key=lambda record: record.arrival_date)
    length = packets // _BATCHES
    chosen = records[warm_up - 1 : warm_up + length * _BATCHES]
    waits = np.maximum([record.waiting_time for record in chosen[1:]], 0.0)
    # The service before each, less the time since that one's arrival.
    steps = np.array([record.service_time for record in chosen[:-1]]) - np.diff(
        [record.arrival_date for record in chosen]
    )
    known = step_means(n, float(arrival), float(mu), service)
    controls = np.stack([steps, np.maximum(steps, 0.0)], axis=1).reshape(_BATCHES, length, 2).mean(axis=1) - known
    return controlled_means(waits.reshape(_BATCHES, length).mean(axis=1), controls, waits.size)
