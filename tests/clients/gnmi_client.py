"""gNMI by finsy: interfaces are read, disabled, and watched; a disabled port carries nothing."""

import asyncio

import finsy as fy
from finsy.gnmiclient import GNMIClientError

from testbed import ADDRESS, ROOT, Switch, command, ethernet, expect

OPER_STATUS = fy.GNMIPath("interfaces/interface[name=*]/state/oper-status")
ENABLED = fy.GNMIPath("interfaces/interface/config/enabled")
IN_PACKETS = fy.GNMIPath("interfaces/interface[name=*]/state/counters/in-pkts")


async def values(client, path):
    """The values at a path by the names of their interfaces."""
    return {update.path["name"]: update.value for update in await client.get(path)}


async def facts(client):
    capabilities = await client.capabilities()
    expect(capabilities.gNMI_version.startswith("0."), "finsy: gNMI tells its version")
    ports = await values(client, fy.GNMIPath("interfaces/interface[name=*]/state/ifindex"))
    expect(ports == {"sw1": 1, "sw2": 2}, "finsy: interfaces have the numbers of ports")
    mtu = await values(client, fy.GNMIPath("interfaces/interface[name=sw1]/state/mtu"))
    expect(mtu == {"sw1": 1500}, "finsy: an interface has an MTU")
    mac = await values(client, fy.GNMIPath("interfaces/interface[name=sw1]/ethernet/state/mac-address"))
    expect(len(mac["sw1"]) == 17, "finsy: an interface has a MAC address")


async def as_onos(client):
    """ONOS asks for ports with `...` as the key, and for a path of no model to know whether there is gNMI."""
    ports = await values(client, fy.GNMIPath("interfaces/interface[name=...]/state/ifindex"))
    expect(ports == {"sw1": 1, "sw2": 2}, "finsy: the key `...` stands for all interfaces")
    code = None
    try:
        await client.get(fy.GNMIPath("onos-gnmi-ping"))
    except GNMIClientError as error:
        code = error.code
    expect(code == fy.GRPCStatusCode.INVALID_ARGUMENT, "finsy: a path of no model is no path")


async def changes(client):
    command("ip", "link", "set", "sw1", "mtu", "1400")
    for _ in range(100):
        mtu = await values(client, fy.GNMIPath("interfaces/interface[name=sw1]/state/mtu"))
        if mtu == {"sw1": 1400}:
            break
        await asyncio.sleep(0.1)
    expect(mtu == {"sw1": 1400}, "finsy: an MTU that has changed is told")


async def next_update(updates):
    return await asyncio.wait_for(anext(updates), 5)


async def disabling(client, bed):
    subscription = client.subscribe()
    subscription.on_change(OPER_STATUS)
    first = {update.path["name"]: update.value async for update in subscription.synchronize()}
    expect(first == {"sw1": "UP", "sw2": "UP"}, "finsy: a stream begins with all values")
    updates = subscription.updates()
    await client.set(update=[(ENABLED.set("interface", name="sw1"), False)])
    update = await next_update(updates)
    expect((update.path["name"], update.value) == ("sw1", "DOWN"), "finsy: a port that is disabled goes down")
    for wire, other in ((1, 2), (2, 1)):
        bed.wires[wire].send(ethernet(wire, 9))
        await asyncio.sleep(0.2)
        expect(bed.wires[other].receive(0.3) is None, f"nothing goes from port {wire} to {other}")
    await client.set(update=[(ENABLED.set("interface", name="sw1"), True)])
    update = await next_update(updates)
    expect((update.path["name"], update.value) == ("sw1", "UP"), "finsy: it comes up again")
    bed.wires[1].send(ethernet(1, 9))
    expect((bed.wires[2].receive() or b"")[:14] == ethernet(1, 9), "and carries packets")
    subscription.cancel()


async def sampling(client, bed):
    subscription = client.subscribe()
    subscription.sample(IN_PACKETS, sample_interval=200_000_000)
    before = {update.path["name"]: update.value async for update in subscription.synchronize()}
    bed.wires[1].send(ethernet(1, 9))
    updates = subscription.updates()
    for _ in range(20):
        update = await next_update(updates)
        if update.path["name"] == "sw1" and update.value > before["sw1"]:
            break
    else:
        raise SystemExit("FAILED: finsy: counters are sampled")
    expect(True, "finsy: counters are sampled")
    subscription.cancel()


async def going_down(client):
    """An interface that is down has no speed; that this value is missing must not move those of other interfaces."""
    subscription = client.subscribe()
    subscription.on_change(fy.GNMIPath("interfaces/interface[name=sw2]/state/oper-status"))
    first = [update.value async for update in subscription.synchronize()]
    expect(first == ["UP"], "finsy: a stream begins with the value of one interface")
    updates = subscription.updates()
    command("ip", "link", "set", "sw1", "down")
    # The switch looks at interfaces once a second.
    await asyncio.sleep(2.5)
    command("ip", "link", "set", "sw2", "down")
    update = await next_update(updates)
    expect((update.path["name"], update.value) == ("sw2", "DOWN"), "finsy: only the value of this interface is told")
    subscription.cancel()


async def main():
    program = ROOT / "programs" / "portfwd"
    bed = Switch(program=program / "portfwd.p4", options=["--entries", str(program / "entries.stf")])
    async with fy.GNMIClient(ADDRESS) as client:
        await facts(client)
        await as_onos(client)
        await changes(client)
        await disabling(client, bed)
        await sampling(client, bed)
        await going_down(client)


asyncio.run(main())
