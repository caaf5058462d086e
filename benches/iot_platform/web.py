"""The part of HTTP/1.1 for the platform: requests with JSON, answers with JSON, connections that stay open."""

import asyncio
import contextlib
import json
import sys
import traceback

HEADER_BYTES_MAX = 1 << 16
BODY_BYTES_MAX = 1 << 22
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 500: "Internal Server Error"}


class Problem(Exception):
    """An answer that is no success."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


async def serve(handler, host, port):
    """A server whose `handler(method, path, query, body)` returns a value for JSON, or bytes of HTML; `body` comes from
    JSON."""

    async def connected(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while await _answer_one(handler, reader, writer):
                pass
        writer.close()

    return await asyncio.start_server(connected, host, port, limit=HEADER_BYTES_MAX, backlog=1024)


async def _answer_one(handler, reader, writer):
    """Whether the connection stays open."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    words = head[0].split(" ")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    stays = headers.get("connection", "").lower() != "close"
    raw = None
    try:
        if len(words) != 3:
            raise Problem(400, "this is no request of HTTP/1.1")
        length = int(headers.get("content-length") or 0)
        if not 0 <= length <= BODY_BYTES_MAX:
            raise Problem(400, f"a body has at most {BODY_BYTES_MAX} bytes")
        raw = await reader.readexactly(length)
        body = json.loads(raw) if raw else None
        path, _, query = words[1].partition("?")
        answer = await handler(
            words[0], path, dict(part.partition("=")[::2] for part in query.split("&") if part), body
        )
        status, content = 200, answer
    except Problem as problem:
        status, content = problem.status, {"error": str(problem)}
    except ValueError as error:
        status, content = 400, {"error": str(error)}
    except asyncio.IncompleteReadError:
        raise
    except Exception as error:
        print(traceback.format_exc(), file=sys.stderr, flush=True)
        status, content = 500, {"error": f"{type(error).__name__}: {error}"}
    # A body that was not read would be taken for the next request.
    stays = stays and raw is not None
    kind, data = (
        ("text/html; charset=utf-8", content)
        if isinstance(content, bytes)
        else ("application/json", json.dumps(content).encode())
    )
    writer.write(
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n"
        f"Cache-Control: no-store\r\nConnection: {'keep-alive' if stays else 'close'}\r\n\r\n".encode()
        + data
    )
    await writer.drain()
    return stays
