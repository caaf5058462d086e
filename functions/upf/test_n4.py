#!/usr/bin/env python3
"""`forebay upf` between an SMF (smf/, with the codec of go-pfcp) and the UPF: sessions, rates, usage, buffering,
handover, and the death of the agent, the SMF or the switch. Needs root, Go, tshark, iperf3.

    ue (TUN of gnb.py) == gnb 192.168.3.2 -- 1 [upf] 2 -- server 203.0.113.9
                                                 |
                                 smf 192.168.4.2 -- n4 192.168.4.1 (the agent)
"""

import json
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE))
from bed import FOREBAY, Failed, check, main, skip, stop, wait_until
from test_end_to_end import SERVER, SERVER_V6, UE, UE_V6, make, start_gnb

PROGRAM = HERE / "upf.p4"
GRPC = "unix:{}"
# free5GC's SMF sends up to four URRs for a PDR.
MORE_URRS = 3
SESSION = {
    "do": "establish", "session": 1, "ue": UE, "ue_prefix": UE_V6, "gnb": "192.168.3.2", "teid": 0x2001, "qfi": 9,
    "volume_threshold": 300_000, "more_urrs": MORE_URRS, "blocked": ["permit out 17 from 203.0.113.0/24 9999 to assigned"],
}  # fmt: skip
ACCEPTED, MANDATORY_MISSING, CONTEXT_NOT_FOUND, NO_ASSOCIATION, RULE_FAILURE = 1, 66, 65, 72, 73


class Smf:
    """The SMF of smf/: gets commands, and prints events."""

    def __init__(self, namespace, program):
        self.process = namespace.start(
            program, "-bind", "192.168.4.2", "-upf", "192.168.4.1", stdin=subprocess.PIPE, name="smf"
        )
        wait_until(lambda: self.find(event="ready"), "the SMF starts")

    def events(self):
        return [json.loads(line) for line in self.process.output.read_text().splitlines()]

    def find(self, since=0, **values):
        return [one for one in self.events()[since:] if all(one.get(key) == value for key, value in values.items())]

    def tell(self, **command):
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, **command):
        """Gives a command; returns its answer."""
        since = len(self.events())
        self.tell(**command)
        wait_until(lambda: self.find(since, do=command["do"]), f"an answer to {command['do']}")
        answer = self.find(since, do=command["do"])[0]
        if answer["event"] == "error":
            raise Failed(f"{command['do']}: {answer['why']}")
        return answer

    def accepted(self, **command):
        answer = self.ask(**command)
        check(answer["cause"] == ACCEPTED, f"{command['do']} is accepted")
        return answer

    def wait(self, since, what, seconds=20, **values):
        wait_until(lambda: self.find(since, **values), what, seconds)
        return self.find(since, **values)[0]


def start_agent(bed, n4, grpc, settings, *options):
    agent = n4.start(FOREBAY, "upf", settings, "--grpc", grpc, *options, "--json", name="agent")
    wait_until(lambda: '"ready"' in agent.output.read_text() or agent.poll() is not None, "the agent starts")
    check(agent.poll() is None, f"the agent runs {agent.output.read_text() if agent.poll() is not None else ''}".strip())
    return agent


def test(bed):
    program = bed.folder / "smf"
    built = subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "smf", capture_output=True, text=True)
    if built.returncode != 0:
        skip(f"go-pfcp cannot be had: {built.stderr.strip()[-200:]}")
        return
    switch, gnb, server = make(bed)
    n4 = bed.namespace("n4")
    smf_host = bed.host("smf", "eth0", n4, "n4", "192.168.4.2/24")
    n4.run("ip", "address", "add", "192.168.4.1/24", "dev", "n4")
    grpc = GRPC.format(bed.folder / "grpc")
    state = bed.folder / "n4-state"
    settings = bed.folder / "n4.toml"
    text = (HERE / "n4.toml").read_text()
    settings.write_text(text.replace("# retry_ms = 3000", "retry_ms = 300").replace("# heartbeat_s = 20", "heartbeat_s = 1")
                        .replace("# usage_ms = 1000", "usage_ms = 200").replace("# echo_s = 60", "echo_s = 1"))  # fmt: skip
    run = bed.switch(switch, PROGRAM, {1: "n3", 2: "n6"}, None, "--grpc", grpc)
    options = ("--save-state", state)
    agent = start_agent(bed, n4, grpc, settings, *options)
    n3, n6, pfcp = gnb.capture("eth0"), server.capture("eth0"), smf_host.capture("eth0")
    smf = Smf(smf_host, program)

    refusals(smf)
    teid = session(smf, gnb, server)
    rates(smf, gnb)
    buffering(smf, gnb, server)
    handover(bed, smf, gnb)
    agent = agent_dies(bed, smf, gnb, agent, lambda: start_agent(bed, n4, grpc, settings, *options))
    smf_dies(smf, gnb, agent)
    run = switch_dies(bed, smf, gnb, switch, run, agent, grpc)
    ends(smf, gnb, teid)
    stop(agent)
    for capture in (n3, n6, pfcp):
        capture.stop()
    check_captures(n3, n6, pfcp)


def refusals(smf):
    """Requests without an association, with missing or wrong elements, and malformed datagrams."""
    check(smf.ask(**SESSION)["cause"] == NO_ASSOCIATION, "a session without an association is refused")
    smf.accepted(do="associate")
    check(smf.ask(do="delete", session=77)["cause"] == CONTEXT_NOT_FOUND, "an unknown session is refused")
    # Establishment without rules; a heartbeat that is cut; another version; an element that is too long; rubbish.
    for text in (
        "21320026 0000000000000000 00000100 003c0005 00 c0a80402 0039000d 02 0000000000000005 c0a80402",
        "2101000c 0000000000000001 00",
        "40010004 00000100",
        "2005000c 00000200 003c ffff 00000000",
        "ff" * 20,
        "20",
    ):
        smf.tell(do="raw", hex=text.replace(" ", ""))
    check(smf.ask(do="heartbeat")["event"], "the agent goes on after malformed datagrams")


def session(smf, gnb, server):
    answer = smf.accepted(**SESSION)
    teid = answer["uplink_teid"]
    check(teid != 0 and answer["upf"] == "192.168.3.1", f"the UPF has chosen TEID {teid:#x} at 192.168.3.1")
    start_gnb(gnb, "192.168.3.2", uplink=teid)
    for source, destination in ((UE, SERVER), (UE_V6, SERVER_V6)):
        gnb.run("ping", "-c", "3", "-i", "0.2", "-I", source, destination)
    check(True, "the UE pings the data network over IPv4 and IPv6")
    server.start("iperf3", "-s")
    wait_until(lambda: server.succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3 listens")
    since = len(smf.events())
    for what, options in (("uplink", ()), ("downlink", ("-R",))):
        gnb.run("iperf3", "-c", SERVER, "-B", UE, "-n", "1M", *options)
        check(True, f"1 MB of TCP, {what}")
    report = smf.wait(since, "a usage report at the threshold", report="usage")["usage"][0]
    check(report["trigger"][0] & 2 and report["uplink"] + report["downlink"] >= 300_000, f"usage report: {report}")
    blocked = ["python3", "-c", "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
               f"s.bind(('{UE}', 0)); s.settimeout(0.5); s.sendto(b'x', ('{SERVER}', 9999)); s.recv(9)"]  # fmt: skip
    check("timed out" in gnb.run(*blocked, check=False), "a flow with a filter of its own is dropped")
    queried = smf.accepted(do="modify", session=1, query=True, more_urrs=MORE_URRS)["usage"]
    check(queried and queried[0]["trigger"][0] & 128, f"usage on request: {queried[:1]}")
    counted = [(one["uplink"], one["downlink"]) for one in queried[1:]]
    # iperf3 may end before all is delivered.
    same = len(counted) == MORE_URRS and len(set(counted)) == 1 and min(counted[0]) > 100_000
    check(same, f"the further URRs of the PDRs have counted alike: {counted}")
    return teid


def rates(smf, gnb):
    smf.accepted(do="modify", session=1, flow_kbps=2000, qfi=9)
    began = time.monotonic()
    gnb.run("iperf3", "-c", SERVER, "-B", UE, "-n", "600K", "-R", timeout=90)
    rate = 600 * 1024 * 8 / (time.monotonic() - began)
    check(rate < 2_600_000, f"an MBR of 2 Mbit/s is kept ({rate / 1e6:.1f} Mbit/s)")
    smf.accepted(do="modify", session=1, flow_kbps=1_000_000, qfi=9)
    since = len(smf.events())
    smf.accepted(do="modify", session=1, volume_quota=200_000, volume_threshold=100_000)
    gnb.run("timeout", "5", "iperf3", "-c", SERVER, "-B", UE, "-n", "3M", check=False)
    wait_until(lambda: any(one["usage"][0]["trigger"][1] & 1 for one in smf.find(since, report="usage")), "the quota is used up")
    check(not gnb.succeeds("ping", "-c", "1", "-W", "1", "-I", UE, SERVER), "a session without quota is stopped")
    smf.accepted(do="modify", session=1, volume_quota=1_000_000_000_000, volume_threshold=100_000_000)
    gnb.run("ping", "-c", "1", "-W", "2", "-I", UE, SERVER)
    check(True, "with a new quota it goes on")


def buffering(smf, gnb, server):
    smf.accepted(do="modify", session=1, state="idle")
    since = len(smf.events())
    ping = server.start("ping", "-c", "1", "-W", "10", "-I", SERVER, UE)
    notified = smf.wait(since, "the SMF is told of downlink data", report="downlink data")
    check(notified["pdr"] == 2 and ping.poll() is None, "the packet of an idle UE is kept, the SMF told once, with its PDR")
    smf.accepted(do="modify", session=1, state="active", gnb="192.168.3.2", teid=0x2001)
    check(ping.wait(timeout=10) == 0, "it is delivered when the UE is active again")


def handover(bed, smf, gnb):
    gnb.run("ip", "address", "add", "192.168.3.3/24", "dev", "eth0")
    smf.accepted(do="modify", session=1, state="active", gnb="192.168.3.3", teid=0x2009, end_marker=True)
    markers = lambda: [process for process in bed.processes if "message 254" in process.output.read_text()]
    wait_until(markers, "the old gNB gets an end marker")
    check(True, "a handover sends an end marker to the old tunnel")
    smf.accepted(do="modify", session=1, state="active", gnb="192.168.3.2", teid=0x2001)
    # The gNB has no tunnel 0x3333: it sends an Error Indication, which the SMF gets as a report.
    since = len(smf.events())
    smf.accepted(do="modify", session=1, state="active", gnb="192.168.3.2", teid=0x3333)
    gnb.run("ping", "-c", "1", "-W", "1", "-I", UE, SERVER, check=False)
    error = smf.wait(since, "the SMF is told of an error indication", report="error indication")
    check(error["teid"] == 0x3333, "an Error Indication of the gNB is reported with its TEID")
    smf.accepted(do="modify", session=1, state="active", gnb="192.168.3.2", teid=0x2001)
    gnb.run("ping", "-c", "1", "-W", "2", "-I", UE, SERVER)


class Pings:
    """Pings of the UE, ten a second, while something happens."""

    def __init__(self, gnb):
        self.process = gnb.start("ping", "-i", "0.1", "-W", "1", "-I", UE, SERVER)
        time.sleep(0.3)

    def lost(self):
        stop(self.process, signal.SIGINT)
        line = next(line for line in self.process.output.read_text().splitlines() if "transmitted" in line)
        words = line.split()
        return int(words[0]) - int(words[3])


def agent_dies(bed, smf, gnb, agent, start):
    pings = Pings(gnb)
    agent.kill()
    agent.wait()
    time.sleep(0.5)
    agent = start()
    output = agent.output.read_text()
    in_order = "1 sessions were kept" in output and " 0 written, 0 deleted" in output
    check(in_order, f"a new agent finds everything in order {'' if in_order else output}".rstrip())
    queried = smf.ask(do="modify", session=1, query=True)
    check(queried["cause"] == ACCEPTED and queried["usage"], "the session can be modified, without a new association")
    lost = pings.lost()
    check(lost == 0, "no ping is lost while the agent is killed and started again")
    return agent


def smf_dies(smf, gnb, agent):
    pings = Pings(gnb)
    smf.ask(do="modify", session=1, volume_threshold=20_000)
    smf.tell(do="silence", on=True)
    wait_until(lambda: "its sessions stay" in agent.output.read_text(), "the agent notices that the SMF is gone")
    since = len(smf.events())
    # Not iperf3: it ends when it has written its bytes, of which some may never leave.
    gnb.run("ping", "-q", "-c", "250", "-s", "1000", "-i", "0.005", "-I", UE, SERVER)
    smf.tell(do="silence", on=False)
    wait_until(lambda: "answers again" in agent.output.read_text(), "the SMF is there again")

    def uplink():
        reports = smf.find(since, report="usage")
        return sum(usage["uplink"] for report in reports for usage in report["usage"])

    # A report has the usage up to its own time; another report may follow.
    wait_until(lambda: uplink() > 200_000, "what was used meanwhile is reported")
    check(True, f"usage of the time without SMF is reported: {uplink()} bytes uplink")
    check(pings.lost() == 0, "no ping is lost while the SMF is away")


def switch_dies(bed, smf, gnb, switch, run, agent, grpc):
    run.kill()
    run.wait()
    run = bed.switch(switch, PROGRAM, {1: "n3", 2: "n6"}, None, "--grpc", grpc)
    wait_until(lambda: gnb.succeeds("ping", "-c", "1", "-W", "1", "-I", UE, SERVER), "traffic after a restart of the switch")
    check(True, "the agent writes all entries again when the switch has been restarted")
    return run


def ends(smf, gnb, teid):
    smf.accepted(do="associate", retain=True)
    check(smf.ask(do="modify", session=1, query=True)["cause"] == ACCEPTED, "a session is retained if the SMF wants it")
    usage = smf.accepted(do="delete", session=1)["usage"]
    check(usage and usage[0]["trigger"][1] & 8, f"the last usage is in the answer to the deletion: {usage}")
    check(not gnb.succeeds("ping", "-c", "1", "-W", "1", "-I", UE, SERVER), "no traffic after the deletion")
    smf.accepted(**SESSION)
    smf.tell(do="restart")
    smf.ask(do="heartbeat")
    check(smf.ask(do="modify", session=1, query=True)["cause"] == CONTEXT_NOT_FOUND, "sessions of an SMF that restarts end")
    smf.accepted(do="associate")
    smf.accepted(**SESSION)
    smf.accepted(do="release")
    check(smf.ask(do="delete", session=1)["cause"] == CONTEXT_NOT_FOUND, "sessions end with their association")


def check_captures(n3, n6, pfcp):
    n3.check_well_formed("N3", only="ip.src == 192.168.3.1 or not udp.port == 2152")
    n6.check_well_formed("N6", only="eth.src == 02:00:00:00:06:01")
    check(n6.count("gtp") == 0, "no tunnel on N6")
    malformed = pfcp.fields("ip.src == 192.168.4.1 and pfcp and _ws.malformed", "frame.number", "_ws.col.Info")
    check(not malformed, f"N4: tshark finds no malformed message {malformed[:3] or ''}".rstrip())
    kinds = {row[0] for row in pfcp.fields("ip.src == 192.168.4.1 and pfcp", "pfcp.msg_type")}
    wanted = {"1", "2", "6", "10", "11", "51", "53", "55", "56"}
    check(wanted <= kinds, f"messages of the agent that tshark has judged: {', '.join(sorted(kinds, key=int))}")
    expert = pfcp.fields("ip.src == 192.168.4.1 and pfcp and _ws.expert", "_ws.expert.message")
    check(not expert, f"tshark has nothing to say of them {expert[:3] or ''}".rstrip())


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", "ping", "ss", "go"))
