"""fabric: a leaf switch with a mobile gateway. Half of the packets are routed, a quarter is bridged, the rest are
tunnelled."""

from frames import ethernet, gtpu, ipv4, padded, tcp, udp, vlan

PROGRAM = "fabric_20190420/fabric.p4"
WANTED = (6, 8)
ROUTES, STATIONS, SUBSCRIBERS = 500, 500, 200
SUBSCRIBER, GATEWAY, BASE_STATION = 0x11000000, 0x8C000001, 0x8C000100
MAC = 0x020000010000
IPV4, ROUTED, BRIDGED, UP, DOWN = "0x800", 1, 100, 900, 901


def entries():
    yield "add ingress_port_vlan 10 ig_port:1 vlan_is_valid:0 permit_with_internal_vlan(vlan_id:10)"
    yield "add ingress_port_vlan 10 ig_port:1 vlan_is_valid:1 vlan_id:20 permit()"
    yield f"add fwd_classifier 10 ig_port:1 eth_dst:0x0200000000fe eth_type:{IPV4} set_forwarding_type(fwd_type:2)"
    for hop in range(64):
        yield f"add hashed next_id:{ROUTED + hop} routing_hashed(port_num:2, smac:0x0200000000fe, dmac:{0x020000000300 + hop:#x})"
        yield f"add next_vlan next_id:{ROUTED + hop} set_vlan(vlan_id:30)"
    for route in range(ROUTES):
        yield f"add routing_v4 ipv4_dst:{0x0A000000 + (route << 8):#x}/24 set_next_id_routing_v4(next_id:{ROUTED + route % 64})"
    yield f"add routing_v4 ipv4_dst:{SUBSCRIBER:#x}/16 set_next_id_routing_v4(next_id:{DOWN})"
    yield f"add hashed next_id:{DOWN} routing_hashed(port_num:1, smac:0x0200000000fe, dmac:0x020000000301)"
    for station in range(STATIONS):
        yield f"add bridging 10 vlan_id:20 eth_dst:{MAC + station:#x} set_next_id_bridging(next_id:{BRIDGED + station % 64})"
    for port in range(64):
        yield f"add hashed next_id:{BRIDGED + port} output_hashed(port_num:3)"
    yield "add egress_vlan vlan_id:30 eg_port:2 pop_vlan()"
    yield "add egress_vlan vlan_id:10 eg_port:1 pop_vlan()"
    yield f"add s1u_filter_table gtp_ipv4_dst:{GATEWAY:#x} nop()"
    for number in range(SUBSCRIBERS):
        yield (
            f"add dl_sess_lookup ipv4_dst:{SUBSCRIBER + number:#x} "
            f"set_dl_sess_info(teid:{number}, s1u_enb_addr:{BASE_STATION + number % 16:#x}, s1u_sgw_addr:{GATEWAY:#x})"
        )
    for rule in range(8):
        yield f"add acl {100 + rule} eth_type:{IPV4} ipv4_src:{0xC6336400 + rule:#x}&&&0xffffffff drop()"


def updates():
    """A route comes and goes."""
    for number in range(100):
        yield f"add routing_v4 ipv4_dst:{0x0B000000 + (number << 8):#x}/24 set_next_id_routing_v4(next_id:{ROUTED}) = r{number}"
        yield f"remove r{number}"


def frame(flow):
    route, ports = flow % ROUTES, 1024 + flow // 8 % 50_000
    source, to = 0x0C000000 + flow, 0x0A000001 + (route << 8)
    match flow % 8:
        case 0 | 1 | 2:
            return padded(ethernet(ipv4(udp(b"", ports, 5000), source, to)))
        case 3:
            return padded(ethernet(ipv4(tcp(b"", ports, 443), source, to, 6)))
        case 4 | 5:
            packet = ipv4(udp(b"", ports, 5000), source, to)
            return padded(ethernet(vlan(packet, 20), 0x8100, f"{MAC + flow % STATIONS:012x}"))
        case 6:
            packet = ipv4(udp(b"", ports, 5000), SUBSCRIBER + flow % SUBSCRIBERS, to)
            return padded(ethernet(ipv4(udp(gtpu(packet, flow % SUBSCRIBERS), 2152, 2152), BASE_STATION, GATEWAY)))
        case _:
            return padded(ethernet(ipv4(udp(b"", 5000, ports), source, SUBSCRIBER + flow % SUBSCRIBERS)))
