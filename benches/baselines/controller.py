#!/usr/bin/env python3
"""An OpenFlow controller (os-ken) that aggregates or disaggregates every IoT packet of its switch.

The switch connects to a TCP port of 127.0.0.1. It sends each frame of its port 1 to the controller, which sends the
resulting frames out of port 2.
"""

import argparse

import messages
from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

PORT_IN, PORT_OUT = 1, 2


class Controller(OSKenApp):
    """A controller. os-ken runs one application of a module, so the role is an argument."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        wanted = arguments_of_command()
        self.batches = messages.Batches(wanted.n)
        self.frames = {"aggregate": self.aggregate, "disaggregate": self.disaggregate}[wanted.role]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, event):
        """Tells the switch to send whole frames of port 1 to the controller."""
        switch = event.msg.datapath
        protocol, parser = switch.ofproto, switch.ofproto_parser
        to_controller = parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)
        instructions = [parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, [to_controller])]
        match = parser.OFPMatch(in_port=PORT_IN)
        switch.send_msg(parser.OFPFlowMod(switch, priority=1, match=match, instructions=instructions))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        """One frame from the switch."""
        frame, switch = event.msg.data, event.msg.datapath
        for out in self.frames(frame) if messages.is_iot(frame) else [frame]:
            self.packet_out(switch, out)

    def packet_out(self, switch, frame):
        """One frame to the switch's port 2."""
        protocol, parser = switch.ofproto, switch.ofproto_parser
        actions = [parser.OFPActionOutput(PORT_OUT)]
        out = parser.OFPPacketOut(switch, protocol.OFP_NO_BUFFER, protocol.OFPP_CONTROLLER, actions, frame)
        switch.send_msg(out)

    def aggregate(self, frame):
        """The frames that leave for a frame at the first switch: an N-packet, or none yet."""
        body = messages.body_of(frame)
        if body[:1] != messages.MESSAGE[:1]:
            return [frame]
        n_packet = self.batches.add(messages.flow_of(frame), body)
        return [messages.with_body(frame, n_packet)] if n_packet else []

    def disaggregate(self, frame):
        """The frames that leave for a frame at the second switch: the messages of an N-packet."""
        body = messages.body_of(frame)
        if body[:1] != messages.N_PACKET[:1]:
            return [frame]
        return [messages.with_body(frame, message) for message in messages.split(body)]


def arguments_of_command():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("role", choices=("aggregate", "disaggregate"), help="as OFC1, as OFC2")
    parser.add_argument("n", type=int, metavar="N")
    parser.add_argument("port", metavar="PORT", help="the TCP port")
    return parser.parse_args()


def main():
    port = arguments_of_command().port
    cfg.CONF(args=["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", port], project="os_ken")
    AppManager.run_apps(["controller"])


if __name__ == "__main__":
    main()
