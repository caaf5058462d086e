"""p4net: three switches in a row route between three hosts. In place of p4c and simple_switch_grpc it starts
`stand_in.py`."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from testbed import HERE, ROOT, expect, skip

PROGRAM = ROOT / "programs" / "l3fwd" / "l3fwd.p4"


def stand_ins(folder):
    """Puts p4c and simple_switch_grpc on the path: Forebay in their place."""
    for name in ("p4c", "simple_switch_grpc"):
        path = pathlib.Path(folder) / name
        path.write_text(f"#!/bin/sh\nexec python3 {HERE}/stand_in.py {name} \"$@\"\n")
        path.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def topology():
    from p4net.topo import Topology

    rows = Topology()
    for number in (1, 2, 3):
        rows.add_switch(f"s{number}", PROGRAM, pcap_enabled=False)
        rows.add_host(
            f"h{number}", ip=f"10.0.{number}.2/24", mac=f"00:00:00:00:0{number}:02", default_route=f"10.0.{number}.1"
        )
        rows.add_link(f"h{number}", f"s{number}", port_b=1)
    rows.add_link("s1", "s2", port_a=2, port_b=2)
    rows.add_link("s2", "s3", port_a=3, port_b=2)
    return rows


def route(network):
    """Entries: from every neighbour, to every host."""
    towards = {1: {1: 1, 2: 2, 3: 2}, 2: {1: 2, 2: 1, 3: 3}, 3: {1: 2, 2: 2, 3: 1}}
    for number, ports in towards.items():
        client = network.switch(f"s{number}").client
        sources = [f"00:00:00:00:0{number}:02"] + [f"00:00:00:00:1{other}:00" for other in (1, 2, 3)]
        for source in sources:
            client.insert_table_entry("L3Ingress.src_mac", {"hdr.ethernet.src_addr": source}, "NoAction")
        for host, port in ports.items():
            is_here = host == number
            client.insert_table_entry(
                "L3Ingress.ipv4_lpm", {"hdr.ipv4.dst_addr": f"10.0.{host}.0/24"}, "L3Ingress.set_next_hop", {"next_hop": host}
            )
            client.insert_table_entry(
                "L3Ingress.next_hops",
                {"meta.next_hop": host},
                "L3Ingress.forward",
                {
                    "src_addr": f"00:00:00:00:1{number}:00",
                    "dst_addr": f"00:00:00:00:0{host}:02" if is_here else "00:00:00:00:ff:00",
                    "port": port,
                },
            )
        expect(len(client.list_table_entries("L3Ingress.ipv4_lpm")) == 3, f"s{number} has its routes")


def main():
    from p4net.network import Network

    pathlib.Path("/run/netns").mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/netns"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        stand_ins(folder)
        with Network(topology(), log_dir=pathlib.Path(folder)) as network:
            expect(True, "three switches are up")
            route(network)
            for number in (1, 2, 3):
                host = network.host(f"h{number}")
                gateway = f"10.0.{number}.1"
                host.exec(["ip", "neigh", "replace", gateway, "lladdr", "00:00:00:00:ff:00", "dev", next(iter(host.interfaces))])
            reached = network.pingall(count=3, timeout=5)
            expect(all(reached.values()) and len(reached) == 6, "every host reaches every other")
            if shutil.which("iperf3"):
                iperf(network)
            else:
                skip("iperf3 is not installed")


def iperf(network):
    """TCP through three switches."""
    server = network.host("h3").popen(["iperf3", "-s", "-1"])
    done = network.host("h1").exec(["sh", "-c", "sleep 1; iperf3 -c 10.0.3.2 -t 3"], timeout=30)
    server.wait(timeout=10)
    expect(done.returncode == 0, "TCP goes through three switches")


main()
