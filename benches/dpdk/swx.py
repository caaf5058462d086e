"""DPDK's SWX pipeline, the back end of p4c-dpdk: its own example program `pipeline` with our programs for it.

The example's source port copies frames out of memory into packet buffers, as the ports of `forebay bench` do; its sink
port frees them.
"""

import os
import re
import socket
import subprocess
import time
from pathlib import Path

import traffic
from process import WORKER, Missing, eal_options, median, sample_rates, start, stop

HERE = Path(__file__).resolve().parent

# SWX matches longest prefixes with the library for access control lists, which is not made for more entries.
ROUTES_MAX = 1000

# In the folder of the example program.
CONTROL_LIBRARY = "control_library.c"

# What is changed in files of the example program: the copy's name, what is replaced, and by what.
CHANGED = {
    # The thread of the command line waits a millisecond for commands, each of which wakes it at once. Its own never waits:
    # it takes a processor from the tester where there are two.
    "conn.c": ("command_line.c", r"(epoll_wait\([^;]*?)0\);", r"\g<1>1);"),
    # Ports over AF_PACKET have no jumbo frames.
    "obj.c": ("objects.c", r"\.mtu = 9000 -", ".mtu = 1518 -"),
    # A port sends fewer packets than a burst, too. Otherwise up to 31 wait for the next ones, without end.
    "thread.c": (
        "threads.c",
        r"(\n\t*)rte_swx_pipeline_run\((t->p\[j\]), PIPELINE_INSTR_QUANTA\);",
        r"{\g<0>\g<1>rte_swx_pipeline_flush(\g<2>); }",
    ),
}

SOURCE_LIST = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n"


def build(folder):
    """The example program, built; fetches DPDK's source if it is not there yet."""
    source = find_source(folder) or fetch_source(folder)
    example = source / "examples/pipeline"
    # The program compiles generated C with headers from the source tree, and expects a build folder in it.
    configuration = source / "build/rte_build_config.h"
    if not configuration.exists():
        configuration.parent.mkdir(exist_ok=True)
        configuration.symlink_to(find_header("rte_build_config.h"))
    write_control_library(source, example)
    changed = [write_changed(example, name, *change) for name, change in CHANGED.items()]
    files = " ".join(["cli.c", "main.c", CONTROL_LIBRARY, *changed])
    run(["make", "-C", example, "shared", f"SRCS-y={files}"], "building DPDK's example program")
    return example / "build/pipeline", source


def write_control_library(source, example):
    """The pipeline's control library without the search for a key among all that wait to be added, which takes two
    minutes for 200,000 entries. Ours differ. Packets never come here; the program has this in place of the installed
    library's."""
    text = (source / "lib/pipeline/rte_swx_ctl.c").read_text()
    before, add, rest = text.partition("\nrte_swx_ctl_pipeline_table_entry_add(")
    search = "table_pending_add_find(table, entry)"
    if search not in rest:
        raise Missing(f"this version of DPDK adds entries in another way: {search} is not in {source}/lib/pipeline/rte_swx_ctl.c")
    changed = before + add + rest.replace(search, "NULL", 1)
    # The installed library has registered its list under its own name.
    changed = changed.replace('"RTE_SWX_CTL_PIPELINE"', '"RTE_SWX_CTL_OURS"')
    write_if_new(example / CONTROL_LIBRARY, changed)


def write_changed(example, name, copy, pattern, replacement):
    """A changed copy of a file of the example program; the copy's name."""
    changed, count = re.subn(pattern, replacement, (example / name).read_text())
    if count != 1:
        raise Missing(f"this version of DPDK is another: {pattern} is not in {example}/{name}")
    write_if_new(example / copy, changed)
    return copy


def write_if_new(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def find_source(folder):
    return next((path for path in folder.glob("dpdk-*") if (path / "examples/pipeline").is_dir()), None)


def fetch_source(folder):
    """Debian's source package of DPDK, by apt, with a list of sources of its own."""
    (folder / "apt/lists/partial").mkdir(parents=True, exist_ok=True)
    release = re.search(r"VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text())
    if release is None:
        raise Missing("this is no Debian: put DPDK's source into " + str(folder))
    sources = folder / "apt/sources.list"
    sources.write_text(SOURCE_LIST.format(release[1]))
    options = [f"Dir::Etc::sourcelist={sources}", "Dir::Etc::sourceparts=-", f"Dir::State::lists={folder}/apt/lists"]
    options += ["APT::Sandbox::User=root"]
    apt = ["apt-get", "-qq", *(word for option in options for word in ("-o", option))]
    run([*apt, "update"], "reading Debian's list of sources")
    run([*apt, "source", "--download-only", "dpdk"], "fetching DPDK's source", cwd=folder)
    (archive,) = folder.glob("dpdk_*.orig.tar.*")
    run(["tar", "xf", archive.name], "unpacking DPDK's source", cwd=folder)
    for unpacked in folder.glob("dpdk-stable-*"):
        unpacked.rename(folder / unpacked.name.replace("stable-", ""))
    source = find_source(folder)
    if source is None:
        raise Missing(f"the source in {folder} has no examples/pipeline")
    return source


def find_header(name):
    flags = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True, check=True).stdout
    folders = [Path(flag[2:]) for flag in flags.split() if flag.startswith("-I")]
    found = next((folder / name for folder in folders if (folder / name).exists()), None)
    if found is None:
        raise Missing(f"{name} is not in the folders of pkg-config --cflags libdpdk")
    return found


def run(command, what, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if result.returncode:
        raise Missing(f"{what} failed:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")


def rate(pipeline, folder, program, entries, samples):
    """Packets a second that one of our programs sends, with these numbers of entries and flows."""
    executable, source = pipeline
    folder = folder / f"{program}-{entries}"
    folder.mkdir(exist_ok=True)
    tables = traffic.write(folder, program, entries)
    write_configuration(folder, program, entries, tables)
    port = free_port()
    command = [executable, *eal_options(256 + entries // 500), "--", "-p", port, "-s", folder / "pipeline.cli"]
    log = folder / "log"
    process = start(command, log, env={**os.environ, "RTE_INSTALL_DIR": str(source)}, stdin=subprocess.DEVNULL)
    try:
        connection = connect(process, port, log)
        sent = lambda: sent_packets(connection)
        rates = sample_rates(process, WORKER, sent, samples)
        check_that_none_is_dropped(connection, log)
        return median(rates)
    finally:
        stop(process)


def write_configuration(folder, program, entries, tables):
    """The files that the example program reads."""
    # Each frame of the source port keeps a buffer; as many as a few bursts are on their way.
    buffers = entries + 4096
    (folder / "ports.io").write_text(
        f"port in 0 source mempool POOL file {folder}/frames.pcap loop 0 packets {entries}\n"
        + "".join(f"port out {port} sink file none\n" for port in range(3))
    )
    lines = [
        f"pipeline codegen {HERE}/{program}.spec {folder}/program.c",
        f"pipeline libbuild {folder}/program.c {folder}/program.so",
        f"mempool POOL buffer 512 pool {buffers} cache 256 cpu 0",
        f"pipeline PIPELINE build lib {folder}/program.so io {folder}/ports.io numa 0",
        *(f"pipeline PIPELINE table {table} add {folder}/{table}.txt" for table in tables),
        "pipeline PIPELINE commit",
        "thread 1 pipeline PIPELINE enable",
    ]
    (folder / "pipeline.cli").write_text("\n".join(lines) + "\n")


def free_port():
    """A free TCP port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(process, port, log):
    """A connection to the program's command line, which it opens when its tables are filled."""
    while True:
        if process.poll() is not None:
            raise Missing(f"DPDK's example program has ended; its last words:\n{log.read_text()[-2000:]}")
        try:
            connection = socket.create_connection(("127.0.0.1", port))
            read_prompt(connection)
            return connection
        except ConnectionRefusedError:
            time.sleep(0.2)


def read_prompt(connection):
    text = ""
    while not text.endswith("pipeline> "):
        part = connection.recv(65536).decode()
        if not part:
            raise Missing(f"DPDK's example program has closed its command line; its last words:\n{text[-2000:]}")
        text += part
    return text


def statistics(connection):
    """Packets by output port, the last of which drops. The sinks count what they free as dropped."""
    connection.sendall(b"pipeline PIPELINE stats\n")
    output = read_prompt(connection).split("Output ports:")[1]
    counts = re.findall(r"(?:Port \d+|DROP): packets (\d+) bytes \d+ packets dropped (\d+)", output)
    return [int(sent) + int(dropped) for sent, dropped in counts]


def sent_packets(connection):
    return sum(statistics(connection)[:-1])


def check_that_none_is_dropped(connection, log):
    *sent, dropped = statistics(connection)
    if dropped or not sum(sent):
        raise Missing(f"the pipeline sends {sum(sent)} packets and drops {dropped}; see {log}")
