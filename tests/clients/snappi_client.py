"""snappi: a script for the Open Traffic Generator API drives `forebay tester serve`, over HTTPS, with a program in memory,
between interfaces, and with emulated devices on both sides of the kernel's router."""

import atexit
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.request

import snappi

from testbed import FOREBAY, ROOT, Wire, command, expect, wait_for

ADDRESS = "127.0.0.1:8443"
L3FWD = ROOT / "programs/l3fwd"
PACKETS = 5000


def serve(*options):
    process = subprocess.Popen([FOREBAY, "tester", "serve", "--address", ADDRESS, *options])
    atexit.register(process.kill)
    wait_for(ADDRESS)
    return process


def configuration(api, locations, destination):
    """What an engineer writes for a traffic generator of any maker."""
    config = api.config()
    tx, rx = config.ports.port(name="tx", location=locations[0]).port(name="rx", location=locations[1])
    config.layer1.layer1(name="speed", port_names=[tx.name, rx.name], speed="speed_10_gbps")
    config.captures.capture(name="received", port_names=[rx.name], format="pcapng")
    flow = config.flows.flow(name="routed")[-1]
    flow.tx_rx.port.tx_name = tx.name
    flow.tx_rx.port.rx_names = [rx.name]
    flow.size.fixed = 128
    flow.rate.pps = 10_000
    flow.duration.fixed_packets.packets = PACKETS
    flow.metrics.enable = True
    flow.metrics.loss = True
    flow.metrics.latency.enable = True
    flow.metrics.latency.mode = flow.metrics.latency.STORE_FORWARD
    ethernet, ip, udp = flow.packet.ethernet().ipv4().udp()
    ethernet.src.value = "02:00:00:00:00:01"
    ethernet.dst.value = "02:00:00:00:00:fe"
    ip.src.value = "10.1.0.1"
    ip.dst.increment.start = destination
    ip.dst.increment.step = "0.0.0.1"
    ip.dst.increment.count = 100
    udp.src_port.values = [5000, 5001]
    udp.dst_port.value = 53
    return config


def transmit(api, state):
    control = api.control_state()
    control.traffic.flow_transmit.state = state
    api.set_control_state(control)


def capture(api, state):
    control = api.control_state()
    control.port.capture.state = state
    api.set_control_state(control)


def flow_metrics(api):
    request = api.metrics_request()
    request.flow.flow_names = ["routed"]
    return api.get_metrics(request).flow_metrics[0]


def measured(api):
    """The metrics of the flow once it has ended and everything is back."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        metrics = flow_metrics(api)
        if metrics.transmit == metrics.STOPPED and metrics.frames_rx == metrics.frames_tx:
            break
        time.sleep(0.1)
    return metrics


def traffic(api, locations, destination="10.0.2.1"):
    api.set_config(configuration(api, locations, destination))
    capture(api, "start")
    transmit(api, "start")
    metrics = measured(api)
    expect(metrics.frames_tx == PACKETS, f"{PACKETS} frames are sent")
    expect(metrics.frames_rx == PACKETS and metrics.loss == 0, "all of them come back")
    expect(0 < metrics.latency.minimum_ns <= metrics.latency.average_ns <= metrics.latency.maximum_ns, "with latency")
    capture(api, "stop")
    request = api.capture_request()
    request.port_name = "rx"
    return api.get_capture(request).read()


def frames(file):
    """How many packets a pcapng file has."""
    count, at = 0, 0
    while at < len(file):
        kind, length = int.from_bytes(file[at : at + 4], "little"), int.from_bytes(file[at + 4 : at + 8], "little")
        count, at = count + (kind == 6), at + length
    return count


def lengths(file):
    """The lengths of the packets of a pcapng file on the wire."""
    found, at = set(), 0
    while at < len(file):
        kind, length = int.from_bytes(file[at : at + 4], "little"), int.from_bytes(file[at + 4 : at + 8], "little")
        if kind == 6:
            found.add(int.from_bytes(file[at + 24 : at + 28], "little"))
        at += length
    return found


def rates(api, locations):
    """A flow is given another rate while it sends."""
    config = configuration(api, locations, "10.0.2.1")
    config.flows[0].duration.continuous.gap = 12
    config.flows[0].rate.pps = 100
    api.set_config(config)
    transmit(api, "start")
    update = api.config_update()
    update.flows.property_names = ["rate"]
    config.flows[0].rate.pps = 20_000
    update.flows.flows.append(config.flows[0])
    api.update_config(update)
    before, start = sent(api), time.monotonic()
    time.sleep(1)
    rate = (sent(api) - before) / (time.monotonic() - start)
    transmit(api, "stop")
    expect(10_000 < rate < 22_000, f"a flow sends at another rate from then on: {rate:.0f} a second")
    expect(api.get_config().flows[0].rate.pps == 20_000, "and the configuration has it")


def sent(api):
    request = api.metrics_request()
    request.flow.flow_names = ["routed"]
    return api.get_metrics(request).flow_metrics[0].frames_tx


def mistakes(api, locations):
    config = configuration(api, locations, "10.0.2.1")
    config.flows[0].packet.icmp()
    try:
        api.set_config(config)
        expect(False, "what is not supported is refused")
    except Exception as error:
        expect("flows[0].packet" in str(error), "what is not supported is refused, and its field is named")
    kept = api.get_config()
    expect(len(kept.flows[0].packet) == 3, "the configuration before stays")


def tunnels(api, locations):
    """Packets in packets, which are forwarded by the outer address, and headers that no router reads."""
    forwarded = {
        "GRE": lambda packet: packet.ethernet().ipv4().gre().ipv4().udp(),
        "IPv6 in IPv4": lambda packet: packet.ethernet().ipv4().ipv6().tcp(),
        "GTP-U": lambda packet: packet.ethernet().ipv4().udp().gtpv1().ipv4().udp(),
        "MPLS in UDP": lambda packet: packet.ethernet().ipv4().udp().mpls().ipv4(),
    }
    for name, headers in forwarded.items():
        config = configuration(api, locations, "10.0.2.1")
        packet = config.flows[0].packet
        packet.clear()
        ethernet, outer, *_ = headers(packet)
        ethernet.src.value, outer.dst.value = "02:00:00:00:00:01", "10.0.2.1"
        api.set_config(config)
        transmit(api, "start")
        expect(measured(api).frames_rx == PACKETS, f"{name} is forwarded")
    others = {
        "ARP": lambda packet: packet.ethernet().arp(),
        "two tags": lambda packet: packet.ethernet().vlan().vlan().ipv4(),
    }
    for name, headers in others.items():
        config = configuration(api, locations, "10.0.2.1")
        packet = config.flows[0].packet
        packet.clear()
        headers(packet)
        warnings = api.set_config(config).warnings
        expect(not warnings, f"flows have {name}: {warnings}")


def over_https():
    """The location that scripts have: with the certificate that the service makes, and with one of an authority."""
    process = serve()
    for location in (f"https://{ADDRESS}", f"http://{ADDRESS}"):
        version = snappi.api(location=location, verify=False).get_version()
        expect(version.api_spec_version.startswith(">=1"), f"{location} is served")
    grpc = snappi.api(location=ADDRESS, transport="grpc")
    expect("no gRPC" in refused(grpc.get_version), "a client of gRPC is told that there is none")
    process.terminate()
    process.wait(timeout=10)
    with tempfile.TemporaryDirectory() as name:
        made = certificate(pathlib.Path(name))
        process = serve("--cert", made[0], "--key", made[1])
    snappi.api(location=f"https://{ADDRESS}", verify=False).get_version()
    said = refused(snappi.api(location=f"http://{ADDRESS}").get_version)
    expect("its location begins with https://" in said, "with a certificate there is HTTPS alone, and others are told")
    process.terminate()
    process.wait(timeout=10)


def refused(call):
    try:
        call()
    except Exception as error:
        return str(error)
    return ""


def certificate(folder):
    """A certificate for this machine, signed by itself, and its key."""
    files = [str(folder / "service.pem"), str(folder / "service.key")]
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run(
        ["openssl", *words, "-out", files[0], "-keyout", files[1]], check=True, stderr=subprocess.DEVNULL
    )
    return files


def in_memory():
    process = serve("--program", str(L3FWD / "l3fwd.p4"), "--entries", str(L3FWD / "entries.stf"))
    api = snappi.api(location=f"http://{ADDRESS}", version_check=True)
    file = traffic(api, ["1", "3"])
    expect(frames(file) == PACKETS, "the capture has every frame")
    expect(lengths(file) == {128}, "with its check sequence")
    mistakes(api, ["1", "3"])
    tunnels(api, ["1", "3"])
    traffic(api, ["1", "3"])
    request = api.metrics_request()
    request.port.port_names = []
    ports = {port.name: port for port in api.get_metrics(request).port_metrics}
    expect(ports["tx"].frames_tx == PACKETS and ports["rx"].frames_rx == PACKETS, "ports count, too")
    with urllib.request.urlopen(f"http://{ADDRESS}/forebay/v1/flows") as answer:
        flow = json.load(answer)["flows"][0]
    expect(flow["latency"]["count"] == PACKETS and flow["latency"]["p99_9_ns"] > 0, "distributions beside the API")
    rates(api, ["1", "3"])
    process.terminate()
    expect(process.wait(timeout=10) == 0, "a signal ends it")


def between_interfaces():
    wires = [Wire(port) for port in (1, 3)]
    switch = [f"{port}@packet:{wire.near}" for port, wire in zip((1, 3), wires, strict=True)]
    words = [FOREBAY, "run", str(L3FWD / "l3fwd.p4"), "--entries", str(L3FWD / "entries.stf"), "--stats-interval", "0"]
    forwarding = subprocess.Popen([*words, *(word for port in switch for word in ("-i", port))])
    process = serve()
    api = snappi.api(location=f"http://{ADDRESS}")
    time.sleep(2)
    traffic(api, [f"packet:{wire.far}" for wire in wires])
    for running in (process, forwarding):
        running.terminate()
        running.wait(timeout=10)


def device(config, name, port, number):
    """A host in 10.0.NUMBER.0/24 and 2001:db8:NUMBER::/64, whose gateway has the last byte 1."""
    made = config.devices.device(name=name)[-1]
    ethernet = made.ethernets.ethernet(name=f"{name}.eth")[-1]
    ethernet.connection.port_name = port
    ethernet.mac = f"02:00:00:00:01:{number:02x}"
    ethernet.ipv4_addresses.ipv4(name=f"{name}.ipv4", address=f"10.0.{number}.2", gateway=f"10.0.{number}.1", prefix=24)
    ethernet.ipv6_addresses.ipv6(
        name=f"{name}.ipv6", address=f"2001:db8:{number}::2", gateway=f"2001:db8:{number}::1", prefix=64
    )


def gateways(api, version):
    request = api.states_request()
    request.choice = f"ipv{version}_neighbors"
    getattr(request, request.choice).ethernet_names = ["one.eth", "two.eth"]
    return [state.link_layer_address for state in getattr(api.get_states(request), request.choice)]


def through_a_router():
    wires = [Wire(port) for port in (5, 6)]
    command("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    for number, wire in enumerate(wires, 1):
        command("sysctl", "-qw", f"net.ipv6.conf.{wire.near}.disable_ipv6=0")
        command("ip", "address", "add", f"10.0.{number}.1/24", "dev", wire.near)
        command("ip", "address", "add", f"2001:db8:{number}::1/64", "dev", wire.near, "nodad")
    process = serve()
    api = snappi.api(location=f"http://{ADDRESS}")
    config = api.config()
    for number, wire in enumerate(wires, 1):
        name = ("one", "two")[number - 1]
        config.ports.port(name=f"p{number}", location=f"packet:{wire.far}")
        device(config, name, f"p{number}", number)
    for version in (4, 6):
        flow = config.flows.flow(name=f"ipv{version}")[-1]
        flow.tx_rx.device.tx_names = [f"one.ipv{version}"]
        flow.tx_rx.device.rx_names = [f"two.ipv{version}"]
        flow.rate.pps = 1000
        flow.duration.fixed_packets.packets = 500
        flow.metrics.enable = True
    api.set_config(config)
    control = api.control_state()
    control.protocol.all.state = control.protocol.all.START
    api.set_control_state(control)
    transmit(api, "start")
    until = time.monotonic() + 30
    while time.monotonic() < until:
        flows = api.get_metrics(flows_request(api)).flow_metrics
        if all(flow.frames_rx == 500 for flow in flows):
            break
        time.sleep(0.1)
    expect([flow.frames_rx for flow in flows] == [500, 500], "the kernel's router forwards what devices send, to devices")
    for version in (4, 6):
        found = gateways(api, version)
        expect(len(found) == 2 and all(found), f"devices have found their IPv{version} gateways: {found}")
    pings(api)
    command("ping", "-c", "1", "-W", "5", "10.0.1.2")
    flows_come_and_go(api)
    process.terminate()
    process.wait(timeout=10)


def pings(api):
    """A device pings the router's other address and a device behind it; nobody has the third address."""
    action = api.control_action()
    for target in ("10.0.2.1", "10.0.2.2", "10.0.2.77"):
        action.protocol.ipv4.ping.requests.add(src_name="one.ipv4", dst_ip=target)
    answer = api.set_control_action(action).response.protocol.ipv4.ping
    results = [response.result for response in answer.responses]
    expect(results == ["succeeded", "succeeded", "failed"], f"devices ping and answer: {results}")


def flows_come_and_go(api):
    """Flows are appended, with headers of ICMP and VXLAN, and deleted."""
    append = api.config_append()
    resources = append.config_append_list.add()
    for name in ("echo", "tunnel"):
        flow = resources.flows.flow(name=name)[-1]
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
        flow.duration.fixed_packets.packets = 10
        flow.metrics.enable = True
    resources.flows[0].packet.ethernet().ipv4().icmp()
    resources.flows[0].packet[2].echo.sequence_number.increment.count = 10
    resources.flows[1].packet.ethernet().ipv4().udp().vxlan().ethernet().ipv6().tcp()
    resources.flows[1].packet[3].vni.values = [7, 8]
    api.append_config(append)
    expect([flow.name for flow in api.get_config().flows] == ["ipv4", "ipv6", "echo", "tunnel"], "flows are appended")
    delete = api.config_delete()
    delete.config_delete_list.add().flows = ["ipv4", "ipv6"]
    api.delete_config(delete)
    transmit(api, "start")
    until = time.monotonic() + 10
    while time.monotonic() < until:
        flows = api.get_metrics(flows_request(api)).flow_metrics
        if all(flow.transmit == flow.STOPPED for flow in flows):
            break
        time.sleep(0.1)
    sent = [(flow.name, flow.frames_tx) for flow in flows]
    expect(sent == [("echo", 10), ("tunnel", 10)], f"the others are deleted, and these are sent: {sent}")


def flows_request(api):
    request = api.metrics_request()
    request.flow.flow_names = []
    return request


command("ip", "link", "set", "lo", "up")
over_https()
in_memory()
between_interfaces()
through_a_router()
