"""gRPC's own client, with messages that it compresses: calls, a stream, and a message that becomes too long."""

import queue

import grpc
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from testbed import ADDRESS, ROOT, Switch, expect

PROGRAM = ROOT / "programs" / "l3fwd" / "l3fwd.p4"
CODINGS = {"gzip": grpc.Compression.Gzip, "deflate": grpc.Compression.Deflate}
UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
MESSAGE_BYTES = 1 << 20
ENTRIES = 2000


class Client:
    """A controller that is primary."""

    def __init__(self, coding, election_id):
        channel = grpc.insecure_channel(ADDRESS, options=UNLIMITED, compression=coding)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
        self.election_id = election_id
        claim = p4runtime_pb2.StreamMessageRequest()
        claim.arbitration.device_id = 1
        claim.arbitration.election_id.low = election_id
        self.requests = queue.SimpleQueue()
        self.requests.put(claim)
        self.answers = self.stub.StreamChannel(iter(self.requests.get, None))
        self.status = next(self.answers).arbitration.status.code

    def write(self, request):
        request.device_id = 1
        request.election_id.low = self.election_id
        self.stub.Write(request, timeout=20)

    def close(self):
        self.requests.put(None)
        self.answers.cancel()


def routes(p4info, kind):
    """A write for each of many routes."""
    table = next(table for table in p4info.tables if table.preamble.alias == "ipv4_lpm")
    action = next(action for action in p4info.actions if action.preamble.alias == "set_next_hop")
    request = p4runtime_pb2.WriteRequest()
    for number in range(ENTRIES):
        update = request.updates.add(type=kind)
        entry = update.entity.table_entry
        entry.table_id = table.preamble.id
        field = entry.match.add(field_id=1)
        field.lpm.value, field.lpm.prefix_len = (0x0A000000 + (number << 8)).to_bytes(4, "big"), 24
        entry.action.action.action_id = action.preamble.id
        entry.action.action.params.add(param_id=1, value=b"\x07")
    return request


def main():
    switch = Switch(ports=0, program=PROGRAM, options=["--grpc-message", "1M"])
    for number, (name, coding) in enumerate(CODINGS.items(), start=1):
        client = Client(coding, number)
        expect(client.status == 0, f"{name}: a stream becomes primary")
        wanted = p4runtime_pb2.GetForwardingPipelineConfigRequest(device_id=1)
        p4info = client.stub.GetForwardingPipelineConfig(wanted, timeout=5).config.p4info
        client.write(routes(p4info, p4runtime_pb2.Update.INSERT))
        request = p4runtime_pb2.ReadRequest(device_id=1)
        request.entities.add().table_entry.table_id = routes(p4info, 1).updates[0].entity.table_entry.table_id
        read = sum(len(answer.entities) for answer in client.stub.Read(request, timeout=20))
        expect(read == ENTRIES, f"{name}: {read} entries are written and read")
        client.write(routes(p4info, p4runtime_pb2.Update.DELETE))
        long = p4runtime_pb2.WriteRequest(role="x" * (MESSAGE_BYTES + 1))
        try:
            client.write(long)
            code = None
        except grpc.RpcError as error:
            code = error.code()
        expect(code == grpc.StatusCode.RESOURCE_EXHAUSTED, f"{name}: a message that becomes too long is refused")
        client.write(routes(p4info, p4runtime_pb2.Update.INSERT))
        client.write(routes(p4info, p4runtime_pb2.Update.DELETE))
        client.close()
    expect(switch.process.poll() is None, "the switch runs on")


main()
