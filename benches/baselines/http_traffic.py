#!/usr/bin/env python3
"""IoT messages by HTTP: sensors that put each message to a server, and the server, which checks it.

`put` has a connection for each flow, which stays open. A message is sent when the previous one was answered, so a flow
has at most one message in a round trip. A message's delay counts from when it was due. Payloads are those of
iot_traffic.c, as hexadecimal digits in JSON; the server is that of the platform (../iot_platform/web.py). `receive`
prints the same object as `iot_traffic receive`.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from mqtt_traffic import FIRST_SECONDS, PAYLOAD, Results, check_of, now_us

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "iot_platform"))
import web

PORT = 8080
POLL_SECONDS = 0.02


async def sensor(server, run, flow, flows, count, rate, begin_us):
    """Puts the messages of a flow, each when it is due."""
    reader, writer = await asyncio.open_connection(server, PORT)
    for sequence in range(count):
        due_us = begin_us + (sequence * flows + flow) * 1_000_000 / rate
        await asyncio.sleep(max(0, due_us - now_us()) / 1e6)
        head = PAYLOAD.pack(run, flow, sequence, int(due_us) & 0xFFFFFFFF, 0)
        body = json.dumps((head[:-4] + check_of(head).to_bytes(4, "little")).hex())
        request = f"PUT /messages/{flow} HTTP/1.1\r\nHost: {server}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        writer.write(request.encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(length_of(answer))
    writer.close()


def length_of(head):
    """The bytes that follow the headers of an answer."""
    lines = head.decode("latin-1").lower().split("\r\n")
    return int(next(line.partition(":")[2] for line in lines if line.startswith("content-length:")))


async def put(server, run, flows, count, rate):
    """Sends at a rate; ends when every message is answered."""
    # Connections are made while the first messages wait for their time.
    begin = now_us() + 200_000
    await asyncio.gather(*(sensor(server, run, flow, flows, count, rate, begin) for flow in range(flows)))
    end = begin + (flows * count - 1) * 1_000_000 / rate
    print(json.dumps({"begin_us": begin, "end_us": int(end), "sent": flows * count}))


async def receive(address, run, flows, count, idle):
    """Counts messages until all have come, or none for `idle` seconds after the first."""
    found = Results(run, flows, count)
    last = now_us() + int(1e6 * (FIRST_SECONDS - idle))

    async def handler(_method, _path, _query, body):
        nonlocal last
        last = now_us()
        found.take(bytes.fromhex(body))
        return {}

    server = await web.serve(handler, address, PORT)
    print("ready", flush=True)
    while len(found.delays) < flows * count and now_us() - last < 1e6 * idle:
        await asyncio.sleep(POLL_SECONDS)
    # The last answers leave.
    await asyncio.sleep(idle)
    server.close()
    print(json.dumps(found.summary()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    for part, address, last in (("put", "server", "rate"), ("receive", "address", "idle_seconds")):
        of_part = parts.add_parser(part)
        of_part.add_argument("address", metavar=address.upper())
        for name in ("run", "flows", "messages_per_flow"):
            of_part.add_argument(name, type=int, metavar=name.upper())
        of_part.add_argument("last", type=float, metavar=last.upper())
    options = parser.parse_args()
    part = put if options.part == "put" else receive
    asyncio.run(part(options.address, options.run, options.flows, options.messages_per_flow, options.last))


if __name__ == "__main__":
    main()
