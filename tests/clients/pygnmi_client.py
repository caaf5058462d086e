"""pygnmi: interfaces are read in every encoding, disabled, polled and watched; groups leave out members behind a
disabled port."""

import time

from pygnmi.client import gNMIclient

from testbed import ADDRESS, FOREBAY, HERE, Switch, command, ethernet, expect

STATUS = "openconfig-interfaces:interfaces/interface[name=sw2]/state/oper-status"
ENABLED = "interfaces/interface[name=sw2]/config/enabled"
HEARTBEAT_NS = 300_000_000


def value(client, path, encoding):
    answer = client.get(path=[path], encoding=encoding)
    return answer["notification"][0]["update"][0]["val"]


def enable(client, is_enabled):
    """Enables or disables a port, and waits until the workers have seen the change."""
    client.set(update=[(ENABLED, is_enabled)], encoding="json_ietf")
    wanted, until = "UP" if is_enabled else "DOWN", time.monotonic() + 5
    while value(client, STATUS, "proto") != wanted and time.monotonic() < until:
        time.sleep(0.05)


def told(message):
    """The values of a message."""
    return [update["val"] for update in message.get("update", {}).get("update", [])]


def subscribed(client, how, path, updates_only=False, **subscription):
    wanted = {"mode": how, "encoding": "proto", "updates_only": updates_only}
    return client.subscribe2({**wanted, "subscription": [{"path": path, **subscription}]})


def reading(client):
    models = [model["name"] for model in client.capabilities()["supported_models"]]
    expect("openconfig-interfaces" in models, "the models are told")
    for encoding in ("json", "json_ietf", "proto"):
        expect(value(client, STATUS, encoding) == "UP", f"a value as {encoding}")
    enable(client, False)
    expect(value(client, ENABLED, "json") is False, "a port is disabled")
    enable(client, True)
    wanted = {
        "subscription": [{"path": "interfaces/interface[name=sw1]/state/counters"}],
        "mode": "once",
        "encoding": "proto",
    }
    answer = str(list(client.subscribe(subscribe=wanted)))
    expect("in-octets" in answer and "sync_response" in answer, "a subscription ends after all values")


def polling(client):
    subscription = subscribed(client, "poll", ENABLED)
    expect(told(subscription.get_update(5)) == [True], "POLL: the values are told in the beginning")
    enable(client, False)
    # pygnmi polls before it reads: the first answer may be from before.
    answers = [told(subscription.get_update(5)) for _ in range(3)]
    expect(answers[-1] == [False], "POLL: and whenever the client asks")
    enable(client, True)
    subscription.close()


def heartbeats(client):
    subscription = subscribed(client, "stream", STATUS, mode="on_change", heartbeat_interval=HEARTBEAT_NS)
    expect(told(subscription.get_update(5)) == ["UP"], "ON_CHANGE: the values are told in the beginning")
    start = time.monotonic()
    beats = [told(subscription.get_update(5)) for _ in range(3)]
    took = time.monotonic() - start
    expect(beats == 3 * [["UP"]] and took > 2 * HEARTBEAT_NS / 1e9, "heartbeats tell values that do not change")
    subscription.close()


def changes(client):
    subscription = subscribed(client, "stream", STATUS, updates_only=True, mode="on_change")
    expect(told(subscription.get_update(5)) == [], "updates_only: no values in the beginning")
    enable(client, False)
    expect(told(subscription.get_update(5)) == ["DOWN"], "but what changes")
    enable(client, True)
    subscription.close()


def routed(bed):
    """How many of 32 flows come out of ports 2 and 3."""
    for flow in range(32):
        addresses = bytes([192, 0, 2, flow, 10, 0, 0, 1])
        header = bytes([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0]) + addresses
        bed.wires[1].send(ethernet(5, 6, 0x0800, header))
    counts = []
    for port in (2, 3):
        counts.append(0)
        while bed.wires[port].receive(0.3):
            counts[-1] += 1
    return counts


def groups(client, bed):
    hop = "set_next_hop dst_addr=02:00:00:00:00:0{0} port={0} weight:1 watch:{0}"
    route = ["table", "add", "routing", "dst_addr=10.0.0.0/8", "do", *hop.format(2).split(), "or", *hop.format(3).split()]
    command(FOREBAY, "ctl", "--grpc", ADDRESS, *route)
    time.sleep(0.5)
    both = routed(bed)
    expect(min(both) > 0 and sum(both) == 32, f"flows go to both members of a group: {both}")
    enable(client, False)
    # A group leaves out members whose port is down.
    time.sleep(0.5)
    one = routed(bed)
    expect(one == [0, 32], f"a disabled port takes the member that watches it out of the group: {one}")
    enable(client, True)
    time.sleep(0.5)
    expect(routed(bed) == both, "when it is enabled again, flows go as before")


def main():
    bed = Switch(ports=3, program=HERE / "entities.p4")
    host, port = ADDRESS.rsplit(":", 1)
    with gNMIclient(target=(host, int(port)), insecure=True) as client:
        for test in (reading, polling, heartbeats, changes):
            test(client)
        groups(client, bed)


main()
