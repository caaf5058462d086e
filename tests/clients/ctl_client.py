"""forebay ctl: single commands, scripts, and a session on a terminal, beside a controller that is primary."""

import json
import subprocess
import tempfile
import time

from terminal import Terminal
from testbed import FOREBAY, HERE, Switch, ethernet, expect

# What the line editor tells the terminal (bracketed paste).
EDITOR_BEGINS, EDITOR_ENDS = "\x1b[?2004h", "\x1b[?2004l"

PROGRAM = HERE / "entities.p4"


def ctl(*words, script=None, code=0):
    """Does a command, or a script; what it prints."""
    done = subprocess.run([FOREBAY, "ctl", *words], input=script, capture_output=True, text=True, timeout=30)
    if done.returncode != code:
        raise SystemExit(f"FAILED: ctl {words}: {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Session(Terminal):
    """A session of `forebay ctl`."""

    def __init__(self, *words):
        super().__init__("ctl", *words)

    def begin(self, line):
        """Types a line, and waits until the editor has taken it."""
        self.type(line + "\r")
        self.wait_for(EDITOR_ENDS)

    def do(self, line, *expected):
        """The same, and waits for what is to be seen and for the next prompt."""
        self.begin(line)
        for text in expected:
            self.wait_for(text)
        self.prompt()

    def prompt(self):
        self.wait_for(EDITOR_BEGINS)

    def end(self):
        self.type("\x04")
        return self.status()


def single_commands(bed):
    expect("`pipeline push" in ctl("table", "dump", "forwarding", code=1), "without a program it is said how to push one")
    ctl("pipeline", "push", str(PROGRAM), "--cookie", "7")
    shown = json.loads(ctl("pipeline", "show", "--json"))
    expect(shown[0]["cookie"] == "7" and shown[0]["tables"] == 6, "a program is pushed and shown")
    ctl(*"table add forwarding dst_addr=00:00:00:00:00:02 do forward port=2".split())
    entry = json.loads(ctl("--json", "table", "dump", "forwarding", "dst_addr=2"))[0]
    expect(entry["action"] == "forward" and entry["parameters"] == {"port": "2"}, "an entry is added and read")
    bed.wires[1].send(ethernet(2, 9))
    expect((bed.wires[2].receive() or b"")[:14] == ethernet(2, 9), "a packet follows it")
    counted = json.loads(ctl("--json", "statistics"))
    expect(counted["totals"]["received_packets"] >= 1, "the switch tells what it has counted")
    expect("received packets" in ctl("statistics"), "in words too")
    counted = json.loads(ctl("counter", "read", "port_counter", "1", "--json"))[0]
    expect(counted["packets"] == 1, "it was counted")
    watched = json.loads(ctl(*"watch port_counter --count 1 --json".split()))
    expect(watched[0]["packets"] == 1, "counters are watched")
    expect("ALREADY_EXISTS" in ctl(*"table add forwarding 2 do drop".split(), code=1), "the switch's refusal is told")
    expect("did you mean `forwarding`" in ctl(*"table dump forwadring".split(), code=1), "names are proposed")
    ctl("packet", "out", ethernet(5, 6).hex() + 46 * "00", "egress_port=2")
    expect((bed.wires[2].receive() or b"")[:14] == ethernet(5, 6), "a packet is sent")


def scripts():
    script = "register write last_source 3 77\n\n# nothing\nregister read last_source 3\n"
    expect("77" in ctl(script=script), "a script does its lines")
    script = "register write last_source 16 1\nregister write last_source 4 78\n"
    expect("line 1" in ctl(script=script, code=1), "a script ends at the first mistake and names its line")
    expect(" 0" in ctl(*"register read last_source 4".split()), "nothing behind it was done")
    ctl("--keep-going", script=script, code=1)
    expect("78" in ctl(*"register read last_source 4".split()), "unless it is to keep going")


def batches():
    entry = "table add forwarding dst_addr=00:00:00:00:01:0{} do forward port=2\n"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("# routes\n" + entry.format(1) + "\n" + entry.format(2))
        file.flush()
        expect("2 changed" in ctl("batch", file.name), "the lines of a file are one batch")
        file.write(entry.format(3))
        file.flush()
        refused = ctl("batch", file.name, code=1)
        expect("nothing of the batch was done" in refused and ":2:" in refused, "a batch that fails names its lines")
        expect(len(dumped("forwarding")) == 4, "and nothing of it was done")
        refused = ctl("batch", file.name, "--continue", code=1)
        expect("part of the batch was not done" in refused and len(dumped("forwarding")) == 5, "unless what can be is to be done")
        file.write("counter read port_counter\n")
        file.flush()
        expect("no change" in ctl("batch", file.name, code=1), "what changes nothing is no part of a batch")
    script = "begin\n" + entry.format(4) + "table clear forwarding\ncommit\n"
    expect("changed" in ctl(script=script), "changes between begin and commit are one batch")
    expect("nothing is gathered" in ctl("commit", code=1), "commit needs a begin")
    ctl(script="begin\n" + entry.format(5) + "abort\n")
    expect("come already" in ctl(script="begin\n" + entry.format(5) + "begin\n", code=1), "changes are not forgotten by a second begin")
    expect("no `commit`" in ctl(script="begin\n" + entry.format(5) + "quit\n", code=1), "nor without a word at the end")
    expect(len(dumped("forwarding")) == 2, "what is aborted is forgotten")
    ctl("table", "clear", "forwarding")


def dumped(table):
    return json.loads(ctl("--json", "table", "dump", table))


def beside_a_primary():
    """Reading affects no other client; writing shows which client is primary."""
    primary = Session("--election-id", "5")
    primary.prompt()
    primary.do("register write last_source 1 41")
    primary.do("register read last_source 1", "1      41")
    expect("3" in ctl(*"register read last_source 3".split()), "reading needs no claim")
    refused = ctl(*"register write last_source 1 2".split(), code=1)
    expect("election id 5" in refused and "--election-id 6" in refused, "who is primary is told")
    ctl(*"--election-id 6 register write last_source 1 3".split())
    primary.do("register write last_source 1 4", "PERMISSION_DENIED")
    expect(primary.end() == 0, "who was replaced is told so")


def terminal(bed):
    session = Session()
    session.prompt()
    session.type("reg\t")
    session.wait_for("register ")
    session.do("re\tlast\t 3", "3      77")
    session.do("tabel", "did you mean `table`?")
    session.begin("packet watch")
    time.sleep(0.5)
    session.type("\x03")
    session.prompt()
    session.do("table add forwarding 3 do to_controller 9")
    session.begin("packet watch --count 1")
    time.sleep(0.5)
    bed.wires[1].send(ethernet(3, 9))
    session.wait_for("ingress_port=1 reason=9")
    session.prompt()
    session.do("digest enable learned_t")
    # Without --count: on a busy machine the digest of the packet above comes when digests are on.
    session.begin("digest watch")
    time.sleep(0.5)
    bed.wires[2].send(ethernet(2, 0x1122))
    session.wait_for("00:00:00:00:11:22")
    session.type("\x03")
    session.prompt()
    expect(session.end() == 0, "a session with completion, packets and digests")


bed = Switch(ports=2)
single_commands(bed)
scripts()
batches()
beside_a_primary()
terminal(bed)
