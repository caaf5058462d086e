"""Bad input to every public function is a ValueError that names parameter, value and range."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay.queueing as queueing
from forebay.queueing import UnstableQueueError

# Good arguments of every public function. What is changed to a bad value must be refused.
GOOD: dict[str, dict[str, Any]] = {
    "accepted_rate": {"n": 2, "message_rate": 1.0, "service_time": 1.0},
    "batch_means": {"means": [1.0, 2.0], "packets": 2, "confidence": 0.9},
    "controlled_means": {
        "means": [1.0, 2.0, 1.5, 1.0],
        "controls": [[0.0], [1.0], [0.5], [0.2]],
        "packets": 4,
        "confidence": 0.9,
    },
    "departure_cdf": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "time": 1.0, "service": "fixed"},
    "departure_distance": {"departures": [1.0, 2.0, 3.0], "n": 2, "message_rate": 1.0},
    "disaggregation_ratio": {"n": 2, "first_rate": 1.0, "service_rate": 1.0},
    "e_n_d_1_survival": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "time": 1.0},
    "e_n_d_1_waiting_time": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "method": "auto"},
    "e_n_m_1_response_time": {"n": 2, "message_rate": 1.0, "service_rate": 1.0},
    "e_n_m_1_root": {"n": 2, "message_rate": 1.0, "service_rate": 1.0},
    "e_n_m_1_root_closed_form": {"n": 2, "message_rate": 1.0, "service_rate": 1.0},
    "e_n_m_1_survival": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "time": 1.0},
    "e_n_m_1_waiting_time": {"n": 2, "message_rate": 1.0, "service_rate": 1.0},
    "empirical_renewal_function": {"intervals": [1.0, 2.0]},
    "erlang_cdf": {"n": 2, "message_rate": 1.0, "time": 1.0},
    "erlang_density": {"n": 2, "message_rate": 1.0, "time": 1.0},
    "erlang_distance": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "service": "fixed", "points": 11},
    "erlang_renewal_function": {"n": 2, "message_rate": 1.0, "time": 1.0},
    "goodput": {"n": 2, "throughput": 1.0},
    "goodput_gain": {"n": 2, "framing_bytes": 24.0},
    "kolmogorov_smirnov": {"sample": [1.0], "probabilities": [0.5]},
    "lindley": {"service_times": [1.0], "intervals": [1.0], "first_wait": 0.0},
    "loss_with_buffer": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "places": 1, "service": "fixed"},
    "loss_without_buffer": {"renewals": 1.0},
    "m_d_1_waiting_time": {"message_rate": 1.0, "service_rate": 2.0},
    "m_g_1_waiting_time": {"message_rate": 1.0, "service_rate": 2.0, "squared_variation": 1.0},
    "m_m_1_waiting_time": {"message_rate": 1.0, "service_rate": 2.0},
    "measured_waiting_time": {
        "arrivals": [0.0, 1.0, 2.0, 3.0],
        "departures": [1.0, 2.0, 3.0, 4.0],
        "service_time": 1.0,
        "batches": 2,
    },
    "minimal_service_rate": {"n": 2, "message_rate": 1.0, "delta": 0.1, "service": "fixed", "constraint": "service"},
    "packet_bytes": {"n": 2, "header_bytes": 48.0, "payload_bytes": 16.0, "framing_bytes": 0.0},
    "payload_ratio": {"n": 2, "header_bytes": 48.0, "payload_bytes": 16.0, "framing_bytes": 0.0},
    "places_for_loss": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "loss": 0.1, "service": "fixed"},
    "service_time_from_rates": {"arrival_rate": 1.0, "accepted": 0.5, "renewal_function": lambda t: t},
    "share_of_fall": {"n": 2, "delta": 0.1, "service": "fixed", "first": 0.01, "last": 1.0},
    "simulate_departures": {
        "n": 2,
        "message_rate": 1.0,
        "service_rate": 2.0,
        "service": "fixed",
        "grouping": "before",
        "packets": 10,
        "seed": 1,
    },
    "simulate_loss": {
        "n": 2,
        "message_rate": 1.0,
        "service_rate": 1.0,
        "places": 1,
        "service": "fixed",
        "packets": 100,
        "seed": 1,
    },
    "simulate_response_time": {
        "n": 2,
        "message_rate": 1.0,
        "service_rate": 1.0,
        "service": "fixed",
        "packets": 200_000,
        "seed": 1,
    },
    "simulate_waiting_time": {
        "n": 2,
        "message_rate": 1.0,
        "service_rate": 1.0,
        "service": "fixed",
        "packets": 200_000,
        "seed": 1,
        "relative_half_width": 0.0,
    },
    "simulate_waiting_time_ciw": {
        "n": 2,
        "message_rate": 1.0,
        "service_rate": 1.0,
        "service": "fixed",
        "packets": 64,
        "seed": 1,
    },
    "superposed_intervals": {"devices": 2, "message_rate": 1.0, "count_": 3, "seed": 1},
    "waiting_distribution": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "service": "fixed"},
    "waiting_time_limit": {"n": 2, "message_rate": 1.0, "service_rate": 1.0, "delta": 0.1, "constraint": "service"},
}
READERS = {"read_distances", "read_goodput_curves", "read_timestamps", "read_waits"}
# Numbers that are taken as they are: a count that is only reported.
UNCHECKED = {("batch_means", "packets"), ("controlled_means", "packets")}
COUNTS = {"n", "places", "packets", "batches", "points", "devices", "count_", "seed"}
MAY_BE_ZERO = {
    "time",
    "throughput",
    "framing_bytes",
    "header_bytes",
    "first_wait",
    "renewals",
    "squared_variation",
    "places",
    "seed",
    "relative_half_width",
    "sample",
    "probabilities",
    "intervals",
    "service_times",
    "departures",
    "arrivals",
    "means",
}


def bad_values(parameter: str, good: Any) -> list[Any]:
    if callable(good) or parameter == "controls":
        return []
    if isinstance(good, str):
        return ["none of them", "", None]
    if isinstance(good, list):
        return [[], [[1.0, 2.0], [3.0, 4.0]], [math.nan, 1.0, 2.0], [-1.0, 1.0, 2.0], "text"]
    values: list[Any] = [-1, math.nan, math.inf, "text", None]
    if parameter in COUNTS:
        values += [1.5, True]
    if parameter not in MAY_BE_ZERO:
        values.append(0)
    return values


def cases() -> list[Any]:
    return [
        pytest.param(name, parameter, bad, id=f"{name}-{parameter}-{bad!r:.20}")
        for name, good in GOOD.items()
        for parameter, value in good.items()
        if (name, parameter) not in UNCHECKED
        for bad in bad_values(parameter, value)
    ]


def test_every_public_function_is_here() -> None:
    functions = {
        name
        for name in queueing.__all__
        if callable(value := getattr(queueing, name)) and not isinstance(value, type) and not name[0].isupper()
    }
    assert functions == set(GOOD) | READERS


@pytest.mark.parametrize("name", list(GOOD))
def test_good_arguments_are_good(name: str) -> None:
    if name == "simulate_waiting_time_ciw":
        pytest.importorskip("ciw")
    getattr(queueing, name)(**GOOD[name])


@pytest.mark.parametrize(("name", "parameter", "bad"), cases())
def test_bad_input_is_named(name: str, parameter: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=parameter):
        getattr(queueing, name)(**(GOOD[name] | {parameter: bad}))


STABLE = [
    name
    for name, good in GOOD.items()
    if {"message_rate", "service_rate"} <= set(good)
    and name not in ("loss_with_buffer", "simulate_loss", "waiting_time_limit")
]


@pytest.mark.parametrize("name", STABLE)
def test_an_unstable_queue_is_named(name: str) -> None:
    for rate in (0.5, 0.4) if "n" in GOOD[name] else (1.0, 0.9):
        if name == "simulate_departures":
            rate *= 2
        with pytest.raises(UnstableQueueError, match=r"unstable queue: service_rate = .* must be > message_rate / n"):
            getattr(queueing, name)(**(GOOD[name] | {"service_rate": rate}))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queueing.minimal_service_rate(8, 1.0, [0.1, -0.05]), r"delta = -0\.05 must be a finite number > 0"),
        (lambda: queueing.payload_ratio(0), r"n = 0 must be an integer >= 1 and <= 1000"),
        (lambda: queueing.e_n_m_1_root_closed_form(5, 1.0, 1.0), r"n = 5 must be an integer >= 1 and <= 4"),
        (lambda: queueing.e_n_m_1_waiting_time(2, 1.0, 0.4), r"load 1\.25, must be < 1"),
        (
            lambda: queueing.e_n_d_1_waiting_time(1, 1.0, 1 + 1e-7, "spitzer"),
            r"method = 'spitzer' .* must be 'auto' or 'roots'",
        ),
        (lambda: queueing.waiting_distribution(1, 1.0, 1 + 1e-9), r"load = .* must be farther below 1"),
        (lambda: queueing.waiting_distribution(1, 1.0, 1 + 1e-9, "fixed"), r"load = .* must be farther below 1"),
        (lambda: queueing.places_for_loss(8, 1.0, 0.1251, 1e-9), r"loss = 1e-09 must be larger"),
        (lambda: queueing.loss_with_buffer(1, 1.0, 1e-9, 3), r"message_rate / service_rate = 1e\+09 must be less"),
        (lambda: queueing.loss_with_buffer(1, 1.0, 1e-9, 3, "fixed"), r"message_rate / service_rate = 1e\+09 must"),
        (lambda: queueing.service_time_from_rates(1.0, 1.0, lambda t: t), r"accepted = 1 must be < arrival_rate = 1"),
        (lambda: queueing.service_time_from_rates(1.0, 0.1, lambda t: t, longest=1.0), r"longest = 1 must be a time"),
        (lambda: queueing.share_of_fall(2, 2.0), r"delta = 2 must be >= first = 0\.01 and <= last = 1"),
        (lambda: queueing.empirical_renewal_function([1.0, 1.0])(5.0), r"time = 5 must be <= 2"),
        (lambda: queueing.measured_waiting_time([0.0] * 4, [0.5] * 4, 1.0, 2), r"departures\[0\] = 0\.5 must be >="),
        (lambda: queueing.departure_distance([1.0, 3.0, 2.0], 2, 1.0), r"must be one-dimensional, increasing"),
        (lambda: queueing.lindley([1.0], [1.0, 2.0]), r"service_times has shape \(1,\) and intervals \(2,\)"),
        (lambda: queueing.m_m_1_waiting_time(np.array([0.5, 3.0]), 2.0), r"load 1\.5"),
    ],
)
def test_messages(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (
            queueing.read_waits,
            "n,mean_wait\n1,2\n",
            r"column 'message_rate' is missing; a header line must name n, message_rate",
        ),
        (queueing.read_waits, "n,message_rate,service_rate,service,mean_wait\n", "at least one line of values"),
        (
            queueing.read_waits,
            "n,message_rate,service_rate,service,mean_wait\n1,1,x,fixed,1\n",
            r":2: service_rate = 'x' must be a number",
        ),
        (
            queueing.read_waits,
            "# c\nn,message_rate,service_rate,service,mean_wait\n0,1,1,fixed,1\n",
            r":3: n = 0 must be an integer >= 1",
        ),
        (
            queueing.read_goodput_curves,
            "n,arrival_rate,goodput\n1,1,-3\n",
            r":2: goodput = -3 must be a finite number >= 0",
        ),
        (lambda path: queueing.read_timestamps(path, "arrival_s"), "departure_s\n1\n", "column 'arrival_s' is missing"),
        (queueing.read_goodput_curves, "n,arrival_rate,goodput\n1,1\n", r":2: goodput = None must be a number"),
        (queueing.read_goodput_curves, "", "column 'n' is missing"),
        (
            queueing.read_distances,
            "grouping,n,service_rate,packets,distance\nafter,4,1.1,1.5,0\n",
            r":2: packets = 1.5 must be an integer",
        ),
    ],
)
def test_bad_files(tmp_path: Path, read: Callable[[Path], object], text: str, message: str) -> None:
    file = tmp_path / "measured.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read(file)


def test_good_files(tmp_path: Path) -> None:
    file = tmp_path / "measured.csv"
    file.write_text(
        "# us\nn,message_rate,service_rate,service,mean_wait,half_width\n2,1,1,fixed,0.2,\n", encoding="utf-8"
    )
    assert queueing.read_waits(file) == [queueing.MeasuredWait(2, 1.0, 1.0, "fixed", 0.2, None)]
    file.write_text("n,arrival_rate,goodput\n2,3,30\n2,1,10\n1,1,5\n", encoding="utf-8")
    curves = queueing.read_goodput_curves(file)
    assert list(curves) == [1, 2] and float(curves[2].at(2.0)) == 20.0 and np.isnan(curves[2].at(4.0))
    file.write_text("arrival_s,other\n0.5,x\n1.5,y\n", encoding="utf-8")
    assert queueing.read_timestamps(file, "arrival_s").tolist() == [0.5, 1.5]
