"""Running a DPDK program, and the processor time of its forwarding thread."""

import subprocess
import time
from pathlib import Path

# No devices: memory and virtual ports only.
EAL_OPTIONS = ["--no-pci", "--no-telemetry", "--no-shconf", "-l", "0,1", "-m"]

# Names of the forwarding thread in different versions of DPDK.
WORKER = ("rte-worker-1", "lcore-worker-1", "lcore-slave-1")


class Missing(Exception):
    """A requirement is missing; the text says what to do."""


def eal_options(megabytes):
    """Options for the environment abstraction layer: this much memory, thread 0 to command, thread 1 to forward."""
    return [*EAL_OPTIONS, str(megabytes), *([] if has_huge_pages(megabytes) else ["--no-huge"])]


def has_huge_pages(megabytes):
    """Whether so much memory is reserved in huge pages of 2 MB (echo PAGES > /proc/sys/vm/nr_hugepages)."""
    pages = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    return pages.exists() and 2 * int(pages.read_text()) >= megabytes


def start(command, log, **options):
    """Starts a program whose output goes to a file."""
    words = [str(word) for word in command]
    with open(log, "w") as output:
        return subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, text=True, **options)


def stop(process):
    """Ends a program that we started."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def thread_seconds(process, names):
    """Seconds that the thread with one of these names has been on a processor."""
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().strip() in names:
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    raise Missing(f"the program has no thread {names[0]}; see its log")


def sample_rates(process, thread, packets, samples, seconds=1.0):
    """Packets a second of the thread's own time, by a counter that `packets` reads."""
    rates = []
    time.sleep(seconds)
    for _ in range(samples):
        packets_before, seconds_before = packets(), thread_seconds(process, thread)
        time.sleep(seconds)
        packets_after, seconds_after = packets(), thread_seconds(process, thread)
        rates.append((packets_after - packets_before) / (seconds_after - seconds_before))
    return rates


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
