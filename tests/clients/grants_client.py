"""gRPC's own client: the rights that `--grant` gives to names in certificates and to users of this machine, over real
connections."""

import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import time

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from testbed import ADDRESS, HERE, Switch, build, expect

OK, DENIED = grpc.StatusCode.OK, grpc.StatusCode.PERMISSION_DENIED
NAMES = ("ops.example", "viewer.example", "stranger.example")
# Open streams: a stream without a reference is closed.
STREAMS = []
# A user without a name, and nobody.
USER, OTHER = 4711, 65534


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL)


def certificates(folder):
    """An authority, and certificates of it for the server and for each controller."""
    authority = ["-keyout", f"{folder}/ca.key", "-out", f"{folder}/ca.pem", "-subj", "/CN=authority"]
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *authority)
    for name in ("localhost", *NAMES):
        (folder / "extensions").write_text(f"subjectAltName=DNS:{name}\n")
        request = ["-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr", "-subj", f"/CN={name}"]
        openssl("req", "-newkey", "rsa:2048", "-nodes", *request)
        signed = ["-in", f"{folder}/{name}.csr", "-out", f"{folder}/{name}.pem", "-extfile", f"{folder}/extensions"]
        openssl("x509", "-req", "-CA", f"{folder}/ca.pem", "-CAkey", f"{folder}/ca.key", "-CAcreateserial", *signed)


def code_of(call):
    try:
        call()
        return OK
    except grpc.RpcError as error:
        return error.code()


def claim(stub, election_id, role=""):
    """Asks to be primary; the code of what comes back. The stream stays open."""
    requests = queue.SimpleQueue()
    message = p4runtime_pb2.StreamMessageRequest()
    message.arbitration.device_id = 1
    message.arbitration.election_id.low = election_id
    message.arbitration.role.name = role
    requests.put(message)
    stream = stub.StreamChannel(iter(requests.get, None))
    STREAMS.append(stream)
    return code_of(lambda: next(stream))


def rights(channel, source, p4info, election_id):
    """The codes of Capabilities, Read, a claim to be primary, Write and SetForwardingPipelineConfig."""
    stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
    read = p4runtime_pb2.ReadRequest(device_id=1)
    read.entities.add().table_entry.table_id = 0
    write = p4runtime_pb2.WriteRequest(device_id=1)
    write.election_id.low = election_id
    push = p4runtime_pb2.SetForwardingPipelineConfigRequest(device_id=1, action=3)
    push.election_id.low = election_id
    push.config.p4_device_config = source
    push.config.p4info.ParseFromString(p4info)
    return [
        code_of(lambda: stub.Capabilities(p4runtime_pb2.CapabilitiesRequest())),
        code_of(lambda: list(stub.Read(read))),
        claim(stub, election_id),
        code_of(lambda: stub.Write(write)),
        code_of(lambda: stub.SetForwardingPipelineConfig(push)),
    ]


def program(folder):
    info = p4info_pb2.P4Info()
    path = HERE / "entities.p4"
    text_format.Parse(build(path, folder).read_text(), info)
    return path.read_bytes(), info.SerializeToString()


def over_tls(folder, source, p4info):
    options = ["--grpc-cert", f"{folder}/localhost.pem", "--grpc-key", f"{folder}/localhost.key"]
    options += ["--grpc-client-ca", f"{folder}/ca.pem", "--read-only-role", "viewer"]
    options += ["--grant", "ops.example=admin", "--grant", "viewer.example=read:viewer"]
    switch = Switch(ports=0, program=HERE / "entities.p4", options=options)
    authority = (folder / "ca.pem").read_bytes()

    def channel(name):
        own = [(folder / f"{name}.{kind}").read_bytes() for kind in ("key", "pem")]
        return grpc.secure_channel(ADDRESS.replace("127.0.0.1", "localhost"), grpc.ssl_channel_credentials(authority, *own))

    expect(rights(channel("ops.example"), source, p4info, 1) == [OK] * 5, "admin may do everything")
    expect(rights(channel("stranger.example"), source, p4info, 2) == [OK] + [DENIED] * 4, "a name without a grant may do nothing")
    stranger = p4runtime_pb2_grpc.P4RuntimeStub(channel("stranger.example"))
    question = p4runtime_pb2.CapabilitiesRequest()
    counters = code_of(lambda: stranger.Capabilities(question, metadata=[("forebay-statistics", "1")]))
    expect(counters == DENIED, "nor read the counters of the data plane")
    viewer = channel("viewer.example")
    found = rights(viewer, source, p4info, 3)
    expect(found[0] == OK and found[2:] == [DENIED] * 3, "a viewer may neither be primary without a role, write nor push")
    stub = p4runtime_pb2_grpc.P4RuntimeStub(viewer)
    read = p4runtime_pb2.ReadRequest(device_id=1, role="viewer")
    read.entities.add().table_entry.table_id = 0
    expect(claim(stub, 4, "viewer") == OK, "it may be primary of its role")
    expect(code_of(lambda: list(stub.Read(read))) == OK, "and read in its role")
    switch.stop()


def over_socket(folder, source, p4info):
    path = folder / "socket"
    options = ["--grpc", f"unix:{path}", "--grant", f"uid:{USER}=write"]
    process = subprocess.Popen([os.environ["FOREBAY"], "run", str(HERE / "entities.p4"), "-i", "1@mem:", *options])
    try:
        wait_for_file(path)
        folder.chmod(0o755)
        path.chmod(0o666)
        (folder / "source").write_bytes(source)
        (folder / "p4info").write_bytes(p4info)
        expected = {USER: ["OK"] * 4 + ["PERMISSION_DENIED"], OTHER: ["OK"] + ["PERMISSION_DENIED"] * 4}
        for number, (user, codes) in enumerate(expected.items(), 1):
            # gRPC does not survive a fork: the other user has a process of its own.
            words = [sys.executable, __file__, str(user), str(folder), str(number)]
            found = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
            expect(found == codes, f"user {user}: {found}")
    finally:
        process.terminate()
        process.wait(timeout=10)


def as_user(user, folder, election_id):
    """Prints the rights of a user."""
    source, p4info = (folder / "source").read_bytes(), (folder / "p4info").read_bytes()
    os.setgid(user)
    os.setuid(user)
    # By default gRPC's core names the socket's path, in percent signs, as the host, which HTTP/2 does not allow:
    # github.com/grpc/grpc/issues/38142.
    channel = grpc.insecure_channel(f"unix:{folder}/socket", options=[("grpc.default_authority", "localhost")])
    found = rights(channel, source, p4info, election_id)
    print(json.dumps([code.name for code in found]), flush=True)
    # A stream that is still open would keep the process.
    os._exit(0)


def wait_for_file(path):
    for _ in range(200):
        if pathlib.Path(path).exists():
            return
        time.sleep(0.05)
    raise SystemExit(f"{path} does not appear")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        certificates(folder)
        source, p4info = program(folder)
        over_socket(folder, source, p4info)
        over_tls(folder, source, p4info)


if len(sys.argv) > 1:
    as_user(int(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]))
else:
    main()
