# %% [markdown]
# # Queueing analysis of aggregation
#
# A switch gathers $N$ messages in one packet; a second switch takes them apart. How fast must it be, so that packets wait little?

# %%
import numpy as np

from forebay.queueing import e_n_d_1_waiting_time, minimal_service_rate, places_for_loss

# %% [markdown]
# The service rate at which the mean wait is 5 % of the time that serving an N-packet takes, for fixed and for exponential service. Rates are
# in N-packets a microsecond, with 142 messages a microsecond arriving.

# %%
messages = 142.0
for n in (1, 2, 4, 8):
    fixed = float(minimal_service_rate(n=n, message_rate=messages, delta=0.05, service="fixed"))
    exponential = float(minimal_service_rate(n=n, message_rate=messages, delta=0.05, service="exponential"))
    print(f"N = {n}: fixed {fixed:7.2f}, exponential {exponential:7.2f}, load {messages / n / fixed:.3f}")

# %% [markdown]
# Gathering makes arrivals more regular, so a server can be loaded more: the load at which the wait is the same grows with $N$.

# %%
loads = [
    messages / n / float(minimal_service_rate(n=n, message_rate=messages, delta=0.05, service="fixed"))
    for n in (1, 2, 4, 8)
]
assert (np.diff(loads) > 0).all()

# %% [markdown]
# The wait over the load, and how many places a buffer needs for a loss of one in a million.

# %%
n = 8
for load in (0.5, 0.7, 0.8, 0.9):
    rate = messages / n / load
    wait = float(e_n_d_1_waiting_time(n, messages, rate)) * rate
    places = places_for_loss(n, messages, rate, loss=1e-6, service="fixed")
    print(f"load {load:.1f}: wait {wait:.4f} service times, {places} places")
