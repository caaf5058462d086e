"""forebay run on a terminal: the view that stands still, and the keys that change it."""

from terminal import Terminal
from testbed import Wire, ethernet, expect

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t ethernet; }
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.ethernet); transition accept; }
}
control C(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    table hosts {
        key = { h.ethernet.dst : exact; }
        actions = { forward; NoAction; }
        const entries = { 2 : forward(2); }
    }
    table unused { key = { h.ethernet.src : exact; } actions = { NoAction; } }
    apply { hosts.apply(); unused.apply(); }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h.ethernet); } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
"""


def main():
    with open("/tmp/live_view.p4", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    wires = {port: Wire(port) for port in (1, 2)}
    ports = [word for port, wire in wires.items() for word in ("-i", f"{port}@packet:{wire.near}")]
    terminal = Terminal("run", "/tmp/live_view.p4", *ports, "--stats-interval", "0.2")
    terminal.wait_for("keys: t with tables, u with queues, p pause, q end the switch")
    wires[1].send(ethernet(2, 9))
    expect((wires[2].receive() or b"")[:14] == ethernet(2, 9), "a packet goes through")
    terminal.wait_for("inside the switch: half of the packets at most")
    terminal.wait_for("hosts 1")
    terminal.type("t")
    terminal.wait_for("unused")
    terminal.wait_for("t without tables")
    terminal.type("p")
    terminal.wait_for("p go on")
    terminal.type("q")
    terminal.wait_for("1 packets received, 0 copies made, 1 sent, 0 dropped")
    expect(terminal.status() == 0, "a key ends the switch")


main()
