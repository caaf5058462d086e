"""dash: virtual networks of a cloud. Three quarters of the packets leave a virtual machine, the others come to one."""

from frames import ethernet, ipv4, padded, tcp, udp, vxlan

PROGRAM = "dash/dash-pipeline-v1model-bmv2.p4"
WANTED = (4, 6)
MACHINES, PEERS = 64, 500
VIP, HOST = 0x64400001, 0x64500000
CUSTOMER, MAC = 0x0A010000, 0x00CC00000000
OUTBOUND_VNI = 100

GROUPS = [
    f"{way}_v{version}_stage{stage}_dash_acl_group_id:{group if version == 4 and stage == 1 else 0}"
    for way, group in [("inbound", 11), ("outbound", 12)]
    for version in (4, 6)
    for stage in range(1, 6)
]


def entries():
    yield f"add vip hdr.u0_ipv4.dst_addr:{VIP:#x} accept()"
    yield f"add direction_lookup hdr.u0_vxlan.vni:{OUTBOUND_VNI} set_outbound_direction()"
    yield "add appliance 1 meta.appliance_id:0x0&&&0x0 set_appliance(neighbor_mac:0x0200000000bb, mac:0x0200000000fe)"
    yield "add acl_group meta.stage1_dash_acl_group_id:11 set_acl_group_attrs(ip_addr_family:0)"
    yield "add acl_group meta.stage1_dash_acl_group_id:12 set_acl_group_attrs(ip_addr_family:0)"
    for way, group in [("inbound", 11), ("outbound", 12)]:
        yield f"add {way}.acl.stage1 1 meta.stage1_dash_acl_group_id:{group} permit()"
        for rule in range(8):
            key = f"meta.stage1_dash_acl_group_id:{group} meta.dst_ip_addr:{0xC6336400 + rule:#x}"
            yield f"add {way}.acl.stage1 {10 + rule} {key} deny()"
    yield "add vnet meta.vnet_id:1 set_vnet_attrs(vni:1001)"
    for machine in range(MACHINES):
        mac, network = MAC + machine, 5000 + machine
        yield f"add eni_ether_address_map meta.eni_addr:{mac:#x} set_eni(eni_id:{machine})"
        yield (
            f"add eni meta.eni_id:{machine} set_eni_attrs(cps:1, pps:1, flows:1, admin_state:1, "
            f"vm_underlay_dip:{HOST + machine:#x}, vm_vni:{network}, vnet_id:1, pl_sip:0, pl_sip_mask:0, pl_underlay_sip:0, "
            f"v4_meter_policy_id:0, v6_meter_policy_id:0, dash_tunnel_dscp_mode:0, dscp:0, "
            + ", ".join(GROUPS)
            + ", disable_fast_path_icmp_flow_redirection:0)"
        )
        key = f"meta.eni_id:{machine} meta.is_overlay_ip_v6:0"
        destination = f"{CUSTOMER:#x}/112"
        yield (
            f"add outbound_routing_stage.routing {key} meta.dst_ip_addr:{destination} "
            "route_vnet(dst_vnet_id:1, meter_policy_en:0, meter_class:1)"
        )
        yield f"add meter_bucket meta.eni_id:{machine} meta.meter_class:1 meter_bucket_action(meter_bucket_index:{machine})"
        for direction in (1, 2):
            yield f"add eni_meter meta.eni_id:{machine} meta.direction:{direction} meta.dropped:0 NoAction()"
        yield (
            f"add inbound_routing 10 meta.eni_id:{machine} hdr.u0_vxlan.vni:1001 "
            f"hdr.u0_ipv4.src_addr:{HOST:#x}&&&0xffff0000 tunnel_decap_pa_validate(src_vnet_id:1)"
        )
    for peer in range(PEERS):
        yield (
            f"add ca_to_pa meta.dst_vnet_id:1 meta.is_lkup_dst_ip_v6:0 meta.lkup_dst_ip_addr:{CUSTOMER + peer:#x} "
            f"set_tunnel_mapping(underlay_dip:{HOST + 0x1000 + peer:#x}, overlay_dmac:{MAC + 0x1000 + peer:#x}, "
            "use_dst_vnet_vni:1, meter_class:0, meter_class_override:0)"
        )
        yield f"add pa_validation meta.vnet_id:1 hdr.u0_ipv4.src_addr:{HOST + 0x1000 + peer:#x} permit()"
    yield "add underlay_routing meta.dst_ip_addr:0x64500000/112 pkt_act(packet_action:1, next_hop_id:2)"
    yield "add underlay_routing meta.dst_ip_addr:0/0 pkt_act(packet_action:1, next_hop_id:3)"


def updates():
    """The place of a peer becomes known and is forgotten."""
    for number in range(100):
        yield (
            f"add ca_to_pa meta.dst_vnet_id:1 meta.is_lkup_dst_ip_v6:0 meta.lkup_dst_ip_addr:{CUSTOMER + 0x2000 + number:#x} "
            f"set_tunnel_mapping(underlay_dip:{HOST + number:#x}, overlay_dmac:{MAC:#x}, "
            f"use_dst_vnet_vni:1, meter_class:0, meter_class_override:0) = p{number}"
        )
        yield f"remove p{number}"


def frame(flow):
    machine, peer, ports = flow % MACHINES, flow * 7 % PEERS, 1024 + flow // 8 % 50_000
    packet, protocol = (tcp(b"", ports, 443), 6) if flow % 2 else (udp(b"", ports, 5000), 17)
    ours, theirs = f"{MAC + machine:012x}", f"{MAC + 0x1000 + peer:012x}"
    if flow % 4 != 3:
        inner = ethernet(ipv4(packet, 0x0A020000 + machine, CUSTOMER + peer, protocol), to=theirs, source=ours)
        return padded(ethernet(ipv4(udp(vxlan(inner, OUTBOUND_VNI), 40000, 4789), HOST + machine, VIP)))
    inner = ethernet(ipv4(packet, CUSTOMER + peer, 0x0A020000 + machine, protocol), to=ours, source=theirs)
    return padded(ethernet(ipv4(udp(vxlan(inner, 1001), 40000, 4789), HOST + 0x1000 + peer, VIP)))
