"""pins_middleblock: a router of a data centre. Three quarters of the packets are IPv4, half of the routes lead to a
WCMP group."""

from frames import ethernet, ipv4, ipv6, padded, tcp, udp

PROGRAM = "pins/pins_middleblock.p4"
WANTED = (5, 8)
ROUTES, HOPS = 500, 64
PREFIX_V6 = "20010db8"


def entries():
    yield "add l3_admit_table 10 dst_mac:0x0200000000fe admit_to_l3()"
    yield "add vrf_table vrf_id:7 no_action()"
    yield "add acl_pre_ingress_table 20 is_ip:1 set_vrf(vrf_id:7)"
    for rule in range(8):
        yield f"add acl_ingress_table {100 + rule} is_ipv4:1 src_ip:{0xC6336400 + rule:#x}&&&0xffffffff acl_drop()"
        yield f"add acl_ingress_security_table {100 + rule} is_ipv4:1 src_ip:{0xC6336500 + rule:#x}&&&0xffffffff acl_deny()"
    yield "add acl_egress_table 10 ip_protocol:0xfe acl_drop()"
    for port in range(2, 4):
        yield f"add router_interface_table router_interface_id:{port} set_port_and_src_mac(port:{port}, src_mac:0x0200000000fe)"
    for hop in range(HOPS):
        port, neighbor = 2 + hop % 2, f"{0xFE80 << 112 | hop:#x}"
        yield (
            f"add neighbor_table router_interface_id:{port} neighbor_id:{neighbor} set_dst_mac(dst_mac:{0x020000000300 + hop:#x})"
        )
        yield f"add nexthop_table nexthop_id:{hop} set_ip_nexthop(router_interface_id:{port}, neighbor_id:{neighbor})"
        yield f"add wcmp_group_table wcmp_group_id:{hop} set_nexthop_id(nexthop_id:{hop})"
    for route in range(ROUTES):
        action = [f"set_nexthop_id(nexthop_id:{route % HOPS})", f"set_wcmp_group_id(wcmp_group_id:{route % HOPS})"][route % 2]
        yield f"add ipv4_table vrf_id:7 ipv4_dst:{0x0A000000 + (route << 8):#x}/24 {action}"
        yield f"add ipv6_table vrf_id:7 ipv6_dst:0x{PREFIX_V6}{route:08x}{0:016x}/64 {action}"


def updates():
    """A route comes and goes."""
    for number in range(100):
        yield f"add ipv4_table vrf_id:7 ipv4_dst:{0x0B000000 + (number << 8):#x}/24 set_nexthop_id(nexthop_id:1) = r{number}"
        yield f"remove r{number}"


def frame(flow):
    route, ports = flow % ROUTES, 1024 + flow // 8 % 50_000
    if flow % 4 == 3:
        source = bytes.fromhex("20010db9") + flow.to_bytes(12)
        to = bytes.fromhex(PREFIX_V6) + route.to_bytes(4) + (1).to_bytes(8)
        return padded(ethernet(ipv6(udp(b"", ports, 5000), source, to), 0x86DD))
    packet = (tcp(b"", ports, 443), 6) if flow % 4 == 2 else (udp(b"", ports, 5000), 17)
    return padded(ethernet(ipv4(packet[0], 0x0C000000 + flow, 0x0A000001 + (route << 8), packet[1])))
