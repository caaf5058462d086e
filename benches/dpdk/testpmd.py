"""`dpdk-testpmd` over ports in memory: the cost of moving packets without look-ups."""

import re
import subprocess
import tempfile
import time
from pathlib import Path

from process import WORKER, Missing, eal_options, median, sample_rates, stop

NULL_PORTS = ["--vdev", "net_null0,size=64,copy=1", "--vdev", "net_null1,size=64,copy=1"]
RING_PORTS = ["--vdev", "net_ring0", "--vdev", "net_ring1"]

# Name, forwarding mode, ports, the command that starts it. Packets of a ring go round for ever.
CASES = [
    ("testpmd io, null ports", "io", NULL_PORTS, "start"),
    ("testpmd macswap, null ports", "macswap", NULL_PORTS, "start"),
    ("testpmd io, rings", "io", RING_PORTS, "start tx_first 4"),
    ("testpmd macswap, rings", "macswap", RING_PORTS, "start tx_first 4"),
]


def rates(samples):
    """Name and packets a second of each case."""
    for name, mode, ports, begin in CASES:
        yield name, rate(mode, ports, begin, samples)


def rate(mode, ports, begin, samples):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        options = ["--", "-i", "--nb-cores=1", f"--forward-mode={mode}", "--total-num-mbufs=16384"]
        command = ["stdbuf", "-oL", "dpdk-testpmd", *eal_options(256), *ports, *options]
        with open(log, "w") as output:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, text=True)
        try:
            say(process, begin)
            return median(sample_rates(process, WORKER, lambda: received(process, log), samples))
        except BrokenPipeError as error:
            raise Missing(f"dpdk-testpmd does not run:\n{log.read_text()[-2000:]}") from error
        finally:
            stop(process)


def say(process, command):
    process.stdin.write(command + "\n")
    process.stdin.flush()


def received(process, log):
    """Packets that all ports have received."""
    seen = log.stat().st_size
    say(process, "show port stats all")
    for _ in range(1000):
        time.sleep(0.002)
        counts = re.findall(r"RX-packets: (\d+)", log.read_text()[seen:])
        if len(counts) >= 2:
            return sum(map(int, counts))
    raise Missing(f"dpdk-testpmd does not answer:\n{log.read_text()[-2000:]}")
