# %% [markdown]
# # Where a queue bends
#
# Packets of 512 bytes arrive at random at a port of a chip that sends 50 Gbps. The load grows: how long do packets wait, and from
# which load on are some lost?

# %%
from pathlib import Path

import numpy as np

from forebay import Simulation, examples, sweep

scenario = examples.path("queue.toml")
print(Path(scenario).read_text())

# %% [markdown]
# One run first. Every number has a place.

# %%
results = Simulation(scenario, LOAD=40).run()
print(results, results.lost, "packets lost")
wait = next(measure for measure in results.measures if measure.endswith(".0.mean_wait_ns"))
print(f"{wait} = {results[wait]:.0f} ns")

# %% [markdown]
# Then many loads, each with three seeds, on all processors.

# %%
loads = [5, 10, 20, 30, 35, 40, 43, 45, 47, 49, 52, 55]
found = sweep(scenario, {"LOAD": loads}, seeds=3, processes=2)
by_load = found.parameter("LOAD").reshape(len(loads), 3)[:, 0]
waits = found[wait].reshape(len(loads), 3)
lost = np.array([results.lost for results in found.results]).reshape(len(loads), 3)
for load, mean, spread, packets in zip(by_load, waits.mean(1), np.ptp(waits, axis=1), lost.sum(1), strict=True):
    print(f"{load:5.0f} Gbps  wait {mean:7.0f} ns (range {spread:5.0f})  lost {packets}")

# %% [markdown]
# The wait is nothing at first and bends near 50 Gbps. A chip's clocks and queues are not an M/D/1 queue; how near are they? An M/D/1 queue
# whose server takes what a frame takes on a wire of 50 Gbps (512 bytes, 4 of the check sequence, 20 of framing) waits $\rho / (2 (1 - \rho))$ service times.

# %%
service_ns = (512 + 4 + 20) * 8 / 50
below = by_load < 46
rho = by_load[below] / 50
formula = rho / (2 * (1 - rho)) * service_ns
for load, measured, computed in zip(by_load[below], waits.mean(1)[below], formula, strict=True):
    print(f"{load:5.0f} Gbps  simulated {measured:6.0f} ns  M/D/1 {computed:6.0f} ns")
assert (np.diff(waits.mean(1)) > -20).all(), "a queue does not get shorter when more arrives"

# %% [markdown]
# The highest load without loss is searched by halving.

# %%
search = Simulation(scenario).find_max()
print(search)
assert 30 < search.max_gbps < 52
assert lost[by_load < search.max_gbps - 3].sum() == 0
