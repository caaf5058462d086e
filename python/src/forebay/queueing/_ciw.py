"""The same queues in Ciw, a simulator that is none of ours (Palmer et al., Journal of Simulation 13, 2019).

About 20,000 N-packets a second. Ciw is an optional dependency: `pip install forebay[ciw]`.
"""

from __future__ import annotations

import numpy as np

from ._check import Array, choice, count, stable
from ._estimate import Estimate, controlled_means
from ._minimal_rate import SERVICES, Service
from ._simulate import step_means

__all__ = ["simulate_waiting_time_ciw"]

_BATCHES = 32
# Ciw keeps a record of every customer, about 2 kB each: longer simulations are several runs.
_RUN_PACKETS = 50_000


def simulate_waiting_time_ciw(
    n: int,
    message_rate: float,
    service_rate: float,
    service: Service = "exponential",
    packets: int = 100_000,
    seed: int = 1,
) -> Estimate:
    """Mean wait of `packets` N-packets by Ciw, with a 95 % confidence interval of batch means.

    More than 50,000 packets are independent runs of equal length. Each run has 32 batches, before which a twentieth of its packets
    warms up. Control variates as in `simulate_waiting_time` narrow the interval, computed from the arrivals and service times of
    Ciw's records. Arguments as of `simulate_waiting_time`. Raises `ImportError` where Ciw is missing.
    """
    n, arrival, mu = stable(n, message_rate, service_rate)
    choice("service", service, SERVICES)
    packets = count("packets", packets, minimum=_BATCHES)
    seed = count("seed", seed, minimum=0)
    runs = -(-packets // _RUN_PACKETS)
    length = packets // runs // _BATCHES
    results = [
        _run(n, float(arrival), float(mu), service, length, seed if run == 0 else run * 1_000_003 + seed)
        for run in range(runs)
    ]
    waits = np.concatenate([waits for waits, _ in results])
    steps = np.concatenate([steps for _, steps in results])
    controls = steps - step_means(n, float(arrival), float(mu), service)
    return controlled_means(waits, controls, waits.size * length)


def _run(n: int, arrival: float, mu: float, service: Service, length: int, seed: int) -> tuple[Array, Array]:
    """Batch means of one run: of the waits, and of the control variates S - A and (S - A)^+."""
    try:
        import ciw
    except ImportError as error:
        raise ImportError("Ciw is missing: pip install 'forebay[ciw]'") from error
    distributions = ciw.dists
    serving = distributions.Exponential(rate=mu) if service == "exponential" else distributions.Deterministic(1 / mu)
    network = ciw.create_network(
        arrival_distributions=[distributions.Erlang(rate=arrival, num_phases=n)],
        service_distributions=[serving],
        number_of_servers=[1],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    packets = length * _BATCHES
    warm_up = 1 + packets // 20
    simulation.simulate_until_max_customers(packets + warm_up + 1, method="Finish")
    records = sorted(simulation.get_all_records(), key=lambda record: record.arrival_date)
    chosen = records[warm_up - 1 : warm_up + packets]
    waits = np.maximum([record.waiting_time for record in chosen[1:]], 0.0)
    # The service before each, less the time since that one's arrival.
    steps = np.array([record.service_time for record in chosen[:-1]]) - np.diff(
        [record.arrival_date for record in chosen]
    )
    controls = np.stack([steps, np.maximum(steps, 0.0)], axis=1)
    return (
        waits.reshape(_BATCHES, length).mean(axis=1),
        controls.reshape(_BATCHES, length, 2).mean(axis=1),
    )
