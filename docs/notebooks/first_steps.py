# %% [markdown]
# # First steps
#
# A P4 program is compiled, gets a route, and routes packets: one by one, traced, and a million in one call.

# %%
import time

import numpy as np

from forebay import Batch, CompileError, Switch, compile, examples
from forebay.packets import internet_checksum

program = compile(examples.path("router.p4"))
print(program)
print(program.tables["Routing.ipv4_lpm"])

# %% [markdown]
# A mistake in a program is an exception with the text that `forebay check` prints.

# %%
try:
    compile("control c() {\n    apply { x = 1; }\n}")
except CompileError as error:
    print(error)

# %% [markdown]
# ## A switch
#
# Tables, actions and fields have their P4 names; values are written as people write them.

# %%
switch = Switch(program, ports=4)
routes = switch.table("ipv4_lpm")
routes.add({"dst_addr": "10.1.0.0/16"}, "forward", {"port": 1, "mac": "02:00:00:00:00:01"})
routes.add({"dst_addr": "10.2.0.0/16"}, "forward", {"port": 2, "mac": "02:00:00:00:00:02"})
for entry in routes.entries:
    print(entry)

# %% [markdown]
# ## A packet
#
# It is built from the program's own headers, and what leaves is read by the program's own parser.

# %%
packet = program.packets.build(
    ethernet={"dst_addr": "02:00:00:00:00:fe", "ether_type": 0x0800},
    ipv4={"version": 4, "ihl": 5, "total_len": 24, "ttl": 64, "src_addr": "192.0.2.1", "dst_addr": "10.2.0.9"},
    payload=b"ping",
)
packet.ipv4.header_checksum = internet_checksum(packet.ipv4.to_bytes())
[left] = switch.send(bytes(packet), port=0)
routed = program.packets.parse(left.data)
print(f"out of port {left.port}:\n{routed}")
print("\n".join(packet.differences(routed)))
assert left.port == 2 and routed.ipv4.ttl == 63

# %% [markdown]
# The trace says what the program did, with places in its source.

# %%
trace = switch.trace(bytes(packet), port=0)
print(trace.text)
print(trace.of("lookup"))

# %% [markdown]
# ## A million packets
#
# They are rows of a matrix; destinations are written into the column of bytes where the address is. No Python loop runs.

# %%
count = 1_000_000
frames = np.tile(np.frombuffer(bytes(packet).ljust(64, b"\0"), dtype=np.uint8), (count, 1))
random = np.random.default_rng(1)
frames[:, 31] = random.choice([1, 2, 3], size=count)

batch = Batch.of_matrix(frames)
begin = time.perf_counter()
left = switch.send_batch(batch, ports=0)
seconds = time.perf_counter() - begin
print(f"{count / seconds / 1e6:.1f} million packets a second")

ports, packets = np.unique(left.ports, return_counts=True)
print(dict(zip(ports.tolist(), packets.tolist(), strict=True)), switch.drops)
assert packets.sum() + switch.drops["ingress_drop"] == count
assert np.array_equal(left.ports, frames[left.origins, 31])

# %% [markdown]
# Counters and registers come as arrays.

# %%
print(switch.counter("arrived")[0], switch.register("seen").read()[:4])
