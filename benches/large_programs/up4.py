"""up4: a mobile gateway. 500 subscribers, each with a session up and down, three applications, routes to both sides."""

from frames import ethernet, gtpu, ipv4, padded, tcp, udp

PROGRAM = "omec/up4.p4"
WANTED = (7, 10)
SUBSCRIBERS = 500
GATEWAY, BASE_STATION = 0xC0A80001, 0xC0A80100
SUBSCRIBER, SERVER = 0x0A010000, 0x08080000


def entries():
    yield "add my_station dst_mac:0x0200000000fe NoAction()"
    yield f"add interfaces ipv4_dst_prefix:{GATEWAY:#x}/32 set_source_iface(src_iface:1, direction:1, slice_id:1)"
    yield f"add interfaces ipv4_dst_prefix:{SUBSCRIBER:#x}/16 set_source_iface(src_iface:2, direction:2, slice_id:1)"
    for number, (port, protocol) in enumerate([(80, 6), (443, 6), (53, 17)]):
        yield (
            f"add applications {10 + number} slice_id:1 app_ip_addr:{SERVER:#x}/16 app_l4_port:{port}->{port} "
            f"app_ip_proto:{protocol:#x} set_app_id(app_id:{number + 1})"
        )
    for base in range(16):
        to = BASE_STATION + base
        yield f"add tunnel_peers tunnel_peer_id:{base} load_tunnel_param(src_addr:{GATEWAY:#x}, dst_addr:{to:#x}, sport:2152)"
        yield f"add routes_v4 dst_prefix:{to:#x}/32 route(src_mac:0x0200000000fe, dst_mac:{0x020000000100 + base:#x}, egress_port:1)"
    yield f"add routes_v4 dst_prefix:{SERVER:#x}/16 route(src_mac:0x0200000000fe, dst_mac:0x020000000200, egress_port:2)"
    for number in range(SUBSCRIBERS):
        address, meter = SUBSCRIBER + number, number + 1
        yield f"add sessions_uplink n3_address:{GATEWAY:#x} teid:{number} set_session_uplink(session_meter_idx:{meter})"
        yield (
            f"add sessions_downlink ue_address:{address:#x} "
            f"set_session_downlink(tunnel_peer_id:{number % 16}, session_meter_idx:{meter})"
        )
        for application in range(2):
            key = f"ue_address:{address:#x} app_id:{2 * application}"
            counter = 2 * number + application
            yield f"add terminations_uplink {key} uplink_term_fwd(ctr_idx:{counter}, tc:1, app_meter_idx:{application})"
            yield (
                f"add terminations_downlink {key} "
                f"downlink_term_fwd(ctr_idx:{counter}, teid:{number}, qfi:{application}, tc:1, app_meter_idx:{application})"
            )
    for number in range(8):
        yield f"add acls {100 + number} eth_type:0x0800 ipv4_src:{0xC6336400 + number:#x}&&&0xffffffff drop()"


def updates():
    """A session comes and goes."""
    for number in range(100):
        yield f"add sessions_downlink ue_address:{SUBSCRIBER + 1000 + number:#x} set_session_downlink_drop() = s{number}"
        yield f"remove s{number}"


def frame(flow):
    """Flows go up and down in turns; of ten subscribers one asks a server for pages."""
    number, ports = flow // 2 % SUBSCRIBERS, 1024 + flow // (2 * SUBSCRIBERS)
    subscriber, server = SUBSCRIBER + number, SERVER + flow % 251
    if number % 10 == 0:
        inside = lambda source, to: (tcp(b"", source, to), 6)  # noqa: E731
        service = 443
    else:
        inside = lambda source, to: (udp(b"", source, to), 17)  # noqa: E731
        service = 5000
    if flow % 2 == 0:
        packet, protocol = inside(ports, service)
        packet = ipv4(packet, subscriber, server, protocol)
        return padded(ethernet(ipv4(udp(gtpu(packet, number), 2152, 2152), BASE_STATION + number % 16, GATEWAY)))
    packet, protocol = inside(service, ports)
    return padded(ethernet(ipv4(packet, server, subscriber, protocol)))
