"""A controller as the P4 tutorials teach it, on gRPC alone: a program in an envelope, single updates, reads one by one.
Also health and reflection, which gRPC tools use, and the options of BMv2 that scripts rely on."""

import atexit
import os
import pathlib
import queue
import stat
import subprocess
import tempfile

import grpc
from google.protobuf import text_format
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from testbed import ADDRESS, FOREBAY, ROOT, Wire, command, ethernet, expect, wait_for

ELECTION = 1
# An IPv4 header to 10.0.0.1 with a time to live of 64.
IPV4 = bytes.fromhex("4500001c00000000401166cf0a0000020a000001") + b"\0\x01\0\x02\0\x08\0\0"


def envelope(program):
    """A `p4.tmp.P4DeviceConfig` with `reassign` and `device_data`, as protocol buffers encode it."""
    length, size = b"", len(program)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return b"\x08\x01\x1a" + length + bytes([size]) + program


def p4info(program, folder):
    """The P4Info that a compiler writes for controllers of P4Runtime 1.3."""
    command(FOREBAY, "build", str(program), "-o", str(folder), "--p4info-version", "1.3", output=subprocess.DEVNULL)
    text = (pathlib.Path(folder) / "p4info.txtpb").read_text()
    expect("initial_default_action" not in text, "a P4Info for 1.3 has nothing newer")
    return text_format.Parse(text, p4info_pb2.P4Info())


class Connection:
    """A switch, seen by a controller."""

    def __init__(self, address):
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel(address))
        self.requests = queue.Queue()
        self.responses = self.stub.StreamChannel(iter(self.requests.get, None))

    def become_primary(self, election=ELECTION):
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.election_id.low = election
        self.requests.put(request)
        return next(self.responses).arbitration.status.code

    def close(self):
        """Ends the stream, and waits until the switch has ended it too."""
        self.requests.put(None)
        for _ in self.responses:
            pass

    def push(self, info, config):
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest()
        request.election_id.low = ELECTION
        request.config.p4info.CopyFrom(info)
        request.config.p4_device_config = config
        request.action = p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        self.stub.SetForwardingPipelineConfig(request)

    def write(self, kind, entry, election=None):
        request = p4runtime_pb2.WriteRequest()
        if election:
            request.election_id.low = election
        update = request.updates.add()
        update.type = kind
        update.entity.table_entry.CopyFrom(entry)
        self.stub.Write(request)

    def read(self, table):
        """The messages of an answer."""
        request = p4runtime_pb2.ReadRequest()
        request.entities.add().table_entry.table_id = table
        return list(self.stub.Read(request))


def refusal(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except grpc.RpcError as error:
        return error.code()
    return None


def route(info):
    """10.0.0.0/8 goes to port 2."""
    ids = {item.preamble.alias: item.preamble.id for item in [*info.tables, *info.actions]}
    entry = p4runtime_pb2.TableEntry(table_id=ids["ipv4_lpm"])
    field = entry.match.add(field_id=1)
    field.lpm.value, field.lpm.prefix_len = b"\x0a\0\0\0", 8
    entry.action.action.action_id = ids["forward"]
    entry.action.action.params.add(param_id=1, value=b"\0\0\0\0\0\x42")
    entry.action.action.params.add(param_id=2, value=b"\0\x02")
    return entry


def start(*words):
    process = subprocess.Popen(words)
    atexit.register(process.kill)
    return process


def earlier_controller():
    """One that goes before the tutorials' begins. simple_switch_grpc forgets its election id, which is higher."""
    earlier = Connection(ADDRESS)
    expect(earlier.become_primary(ELECTION + 1) == 0, "an earlier controller becomes primary")
    missing = refusal(earlier.stub.GetForwardingPipelineConfig, p4runtime_pb2.GetForwardingPipelineConfigRequest())
    expect(missing == grpc.StatusCode.FAILED_PRECONDITION, "without a program, simple_switch_grpc has none to give")
    earlier.close()


def control(folder):
    """The tutorials' way: push, insert, read; and the log of the packet that is routed."""
    info = p4info(ROOT / "tests" / "bmv2" / "routing.p4", folder)
    connection = Connection(ADDRESS)
    expect(connection.become_primary() == 0, "the controller becomes primary")
    connection.push(info, envelope((ROOT / "tests" / "bmv2" / "routing.json").read_bytes()))
    expect(True, "a program in an envelope is taken")
    entry = route(info)
    empty = connection.read(entry.table_id)
    expect([len(message.entities) for message in empty] == [0], "a read that finds nothing is one empty message")
    update = p4runtime_pb2.Update
    connection.write(update.INSERT, entry, election=ELECTION)
    expect(connection.read(entry.table_id)[0].entities[0].table_entry.table_id == entry.table_id, "an entry is read back")
    denied = refusal(connection.write, update.DELETE, entry)
    expect(denied == grpc.StatusCode.PERMISSION_DENIED, "beside a primary, a write needs an election id")
    return connection, entry


def clean_up(connection, entry):
    """A write without a stream, as scripts do it."""
    connection.close()
    connection.write(p4runtime_pb2.Update.DELETE, entry)
    expect(True, "without a primary, a write needs no election id")


def tools():
    """Health and reflection."""
    channel = grpc.insecure_channel(ADDRESS)
    health = health_pb2_grpc.HealthStub(channel)
    for service in ("", "p4.v1.P4Runtime", "gnmi.gNMI"):
        status = health.Check(health_pb2.HealthCheckRequest(service=service)).status
        expect(status == health_pb2.HealthCheckResponse.SERVING, f"health of `{service}`")
    wanted = reflection_pb2.ServerReflectionRequest(list_services="")
    answer = next(reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([wanted])))
    names = {service.name for service in answer.list_services_response.service}
    expect({"p4.v1.P4Runtime", "gnmi.gNMI", "grpc.health.v1.Health"} <= names, "reflection lists the services")


def in_the_file_system(folder):
    """A socket that only its owner may use."""
    path = folder / "switch.sock"
    process = start(FOREBAY, "run", "--grpc", f"unix://{path}", "--stats-interval", "0")
    # This client would send the path as the name of the host, percent-encoded, which is no name of a host.
    options = [("grpc.default_authority", "localhost")]
    stub = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel(f"unix://{path}", options))
    answer = stub.Capabilities(p4runtime_pb2.CapabilitiesRequest(), wait_for_ready=True, timeout=30)
    expect(answer.p4runtime_api_version == "1.5.0", "a socket in the file system")
    expect(stat.S_IMODE(path.stat().st_mode) == 0o600, "it is its owner's")
    shown = subprocess.run([FOREBAY, "ctl", "--addr", f"unix:{path}", "capabilities"], capture_output=True, text=True)
    expect("1.5.0" in shown.stdout, "forebay ctl finds it")
    process.terminate()
    process.wait(timeout=10)
    expect(not path.exists(), "it goes when the switch ends")


def named_as_bmv2(folder, wires):
    """`simple_switch_grpc` is a link to this program."""
    link = folder / "simple_switch_grpc"
    link.symlink_to(FOREBAY)
    ports = [f"{port}@{wire.near}" for port, wire in wires.items()]
    log = folder / "log"
    options = ["--thrift-port", "9090", "--log-file", str(log), "--log-flush", "-L", "debug", "--pcap", str(folder)]
    process = start(str(link), "-i", *ports, "--no-p4", *options, "--", "--grpc-server-addr", f"localhost:{ADDRESS[-4:]}")
    wait_for(ADDRESS)
    return process, folder / "log.txt"


def main():
    os.environ["no_proxy"] = "*"
    command("ip", "link", "set", "lo", "up")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wires = {port: Wire(port) for port in (1, 2)}
        process, log = named_as_bmv2(folder, wires)
        earlier_controller()
        connection, entry = control(folder)
        wires[1].send(ethernet(1, 2, 0x0800, IPV4))
        frame = wires[2].receive(timeout=10)
        expect(frame and frame[:6] == b"\0\0\0\0\0\x42", "the packet is routed")
        lines = log.read_text()
        for line in (
            "Processing packet received on port 1",
            "Table 'RoutingIngress.ipv4_lpm': hit with handle 0",
            "Action entry is RoutingIngress.forward - 42,2,",
            "Transmitting packet of size 60 out of port 2",
        ):
            expect(line in lines, f"the log says: {line}")
        clean_up(connection, entry)
        tools()
        process.terminate()
        process.wait(timeout=10)
        expect((folder / f"{wires[2].near}_out.pcap").stat().st_size > 24, "captures are named by interface")
        in_the_file_system(folder)


main()
