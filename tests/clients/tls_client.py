"""gRPC's own client: encrypted connections, certificates of controllers, and many sessions one after the other."""

import pathlib
import subprocess
import tempfile
import threading

import grpc
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from testbed import ADDRESS, Switch, expect

EXTENSIONS = "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n"
SESSIONS = 1000


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL)


def certificates(folder):
    """An authority, and certificates of it for the server and for a controller."""
    authority = ["-keyout", f"{folder}/ca.key", "-out", f"{folder}/ca.pem", "-subj", "/CN=authority"]
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *authority)
    (folder / "extensions").write_text(EXTENSIONS)
    for name in ("server", "controller"):
        request = ["-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr", "-subj", "/CN=localhost"]
        openssl("req", "-newkey", "rsa:2048", "-nodes", *request)
        signed = ["-in", f"{folder}/{name}.csr", "-out", f"{folder}/{name}.pem", "-extfile", f"{folder}/extensions"]
        openssl("x509", "-req", "-CA", f"{folder}/ca.pem", "-CAkey", f"{folder}/ca.key", "-CAcreateserial", *signed)


def version(credentials):
    """The version that the switch tells, or the code of the failure."""
    port = ADDRESS.rsplit(":", 1)[1]
    address = f"localhost:{port}"
    channel = grpc.secure_channel(address, credentials) if credentials else grpc.insecure_channel(address)
    try:
        stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
        return stub.Capabilities(p4runtime_pb2.CapabilitiesRequest(), timeout=5).p4runtime_api_version
    except grpc.RpcError as error:
        return error.code()


def session(stub, election_id):
    """Opens a stream, becomes primary, and closes the stream."""
    stop = threading.Event()

    def messages():
        message = p4runtime_pb2.StreamMessageRequest()
        message.arbitration.device_id = 1
        message.arbitration.election_id.low = election_id
        yield message
        stop.wait()

    call = stub.StreamChannel(messages())
    answer = next(call)
    stop.set()
    call.cancel()
    return answer.arbitration.status.code


def memory(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        certificates(folder)
        options = ["--grpc-cert", f"{folder}/server.pem", "--grpc-key", f"{folder}/server.key"]
        switch = Switch(ports=0, options=[*options, "--grpc-client-ca", f"{folder}/ca.pem"])
        authority = (folder / "ca.pem").read_bytes()
        own = [(folder / f"controller.{kind}").read_bytes() for kind in ("key", "pem")]
        credentials = grpc.ssl_channel_credentials(authority, *own)
        expect(version(credentials) == "1.5.0", "a controller with a certificate is served")
        without = grpc.ssl_channel_credentials(authority)
        expect(version(without) == grpc.StatusCode.UNAVAILABLE, "one without is not")
        expect(version(None) == grpc.StatusCode.UNAVAILABLE, "nor one that does not encrypt")
        stub = p4runtime_pb2_grpc.P4RuntimeStub(grpc.secure_channel(ADDRESS.replace("127.0.0.1", "localhost"), credentials))
        codes = [session(stub, number) for number in range(1, SESSIONS)]
        before = memory(switch.process)
        codes += [session(stub, number) for number in range(SESSIONS, 2 * SESSIONS)]
        expect(set(codes) == {0}, f"{len(codes)} sessions, each of them primary")
        grown = memory(switch.process) - before
        expect(grown < 1024, f"the second thousand leaves nothing behind ({grown} kB)")


main()
