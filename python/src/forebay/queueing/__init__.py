"""Queueing analysis of packet aggregation and disaggregation in switches.

Poisson messages (rate lambda) are gathered N at a time into N-packets by a first switch, and taken apart by a second one,
which serves mu_N N-packets per unit of time. The package has what is known of both in formulas, and simulations that
check them:

* the first switch's departures and their distance from Erlang-N (`departure_cdf`, `erlang_distance`, ...);
* payload and goodput (`payload_ratio`, `goodput`, ...);
* the wait at the second switch: M/M/1, M/D/1, E_N/M/1 and E_N/D/1;
* the smallest service rate that keeps the wait short (`minimal_service_rate`);
* loss without and with a small buffer (`loss_without_buffer`, `loss_with_buffer`, ...), and service times from it;
* simulation: ours on arrays (`simulate_waiting_time`), and Ciw (`simulate_waiting_time_ciw`);
* measured timestamps, waits and goodput from files (`read_waits`, ...).

`python -m forebay.queueing figures --out DIR` writes tables and charts. The equations are numbered as in Lin,
Wang, Huang and Wu, "The SDN approach for the aggregation/disaggregation of sensor data" (Sensors 18, 2018);
`docs/queueing.md` of the repository has the evidence for each.

Rates are numbers per unit of time, in a unit of the caller's choice, and times come out in this unit. Arguments that may
be arrays broadcast; scalars give NumPy scalars. Bad arguments raise `ValueError` with the parameter, its value and what
is allowed; a load of 1 or more raises its subclass `UnstableQueueError`.

>>> from forebay.queueing import e_n_m_1_waiting_time, minimal_service_rate
>>> rate = minimal_service_rate(n=8, message_rate=1.0, delta=0.1)
>>> round(float(rate), 4)
0.3845
>>> round(float(e_n_m_1_waiting_time(8, 1.0, rate) * rate), 9)      # delta, in service times
0.1
"""

from ._buffer import loss_with_buffer, places_for_loss, waiting_distribution
from ._check import UnstableQueueError
from ._ciw import simulate_waiting_time_ciw
from ._departures import (
    Grouping,
    departure_cdf,
    erlang_cdf,
    erlang_density,
    erlang_distance,
    kolmogorov_smirnov,
    simulate_departures,
    superposed_intervals,
)
from ._e_n_d_1 import e_n_d_1_survival, e_n_d_1_waiting_time
from ._e_n_m_1 import (
    e_n_m_1_response_time,
    e_n_m_1_root,
    e_n_m_1_root_closed_form,
    e_n_m_1_survival,
    e_n_m_1_waiting_time,
)
from ._estimate import Estimate, batch_means, controlled_means
from ._goodput import FRAMING_BYTES, HEADER_BYTES, PAYLOAD_BYTES, goodput, goodput_gain, packet_bytes, payload_ratio
from ._loss import (
    accepted_rate,
    disaggregation_ratio,
    empirical_renewal_function,
    erlang_renewal_function,
    loss_without_buffer,
    service_time_from_rates,
)
from ._m_g_1 import m_d_1_waiting_time, m_g_1_waiting_time, m_m_1_waiting_time
from ._measured import (
    GoodputCurve,
    MeasuredDistance,
    MeasuredWait,
    departure_distance,
    measured_waiting_time,
    read_distances,
    read_goodput_curves,
    read_timestamps,
    read_waits,
)
from ._minimal_rate import Constraint, Service, minimal_service_rate, share_of_fall, waiting_time_limit
from ._simulate import lindley, simulate_loss, simulate_response_time, simulate_waiting_time

__all__ = [
    "FRAMING_BYTES",
    "HEADER_BYTES",
    "PAYLOAD_BYTES",
    "Constraint",
    "Estimate",
    "GoodputCurve",
    "Grouping",
    "MeasuredDistance",
    "MeasuredWait",
    "Service",
    "UnstableQueueError",
    "accepted_rate",
    "batch_means",
    "controlled_means",
    "departure_cdf",
    "departure_distance",
    "disaggregation_ratio",
    "e_n_d_1_survival",
    "e_n_d_1_waiting_time",
    "e_n_m_1_response_time",
    "e_n_m_1_root",
    "e_n_m_1_root_closed_form",
    "e_n_m_1_survival",
    "e_n_m_1_waiting_time",
    "empirical_renewal_function",
    "erlang_cdf",
    "erlang_density",
    "erlang_distance",
    "erlang_renewal_function",
    "goodput",
    "goodput_gain",
    "kolmogorov_smirnov",
    "lindley",
    "loss_with_buffer",
    "loss_without_buffer",
    "m_d_1_waiting_time",
    "m_g_1_waiting_time",
    "m_m_1_waiting_time",
    "measured_waiting_time",
    "minimal_service_rate",
    "packet_bytes",
    "payload_ratio",
    "places_for_loss",
    "read_distances",
    "read_goodput_curves",
    "read_timestamps",
    "read_waits",
    "service_time_from_rates",
    "share_of_fall",
    "simulate_departures",
    "simulate_loss",
    "simulate_response_time",
    "simulate_waiting_time",
    "simulate_waiting_time_ciw",
    "superposed_intervals",
    "waiting_distribution",
    "waiting_time_limit",
]
