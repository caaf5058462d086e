"""A connection to an MQTT broker that is restored when it breaks: QoS 1 both ways, a session that the broker keeps.

Messages without an acknowledgement are published again after the connection is restored, so each arrives at least once.
"""

import asyncio
import collections
import contextlib

import mqtt

RETRY_SECONDS = 0.2


class Connection:
    """`received(topic, payload)` is called for each message before it is acknowledged."""

    def __init__(self, host, port, client_id, topics=(), received=None, limit=1_000_000):
        self.address, self.client_id, self.topics, self.received = (host, port), client_id, topics, received
        self.limit = limit
        self.unacknowledged = collections.OrderedDict()
        self.waiting = collections.deque()
        self.acknowledged = self.connections = self.overflow = 0
        self.on_acknowledged = None
        self._identifier = 0
        self._writer = None

    def publish(self, topic, payload):
        """Publishes now or once the broker is connected; messages beyond the queue's limit are counted as
        `overflow`."""
        if len(self.waiting) + len(self.unacknowledged) >= self.limit:
            self.overflow += 1
        elif self._writer is None or len(self.unacknowledged) >= 0x8000:
            self.waiting.append((topic, payload))
        else:
            self._send(topic, payload)

    def pending(self):
        """How many messages the broker has not acknowledged."""
        return len(self.waiting) + len(self.unacknowledged)

    @property
    def is_connected(self):
        return self._writer is not None

    async def run(self):
        """Connects, and connects again, until it is cancelled."""
        while True:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, EOFError):
                await self._serve()
            self._writer = None
            await asyncio.sleep(RETRY_SECONDS)

    async def _serve(self):
        reader, writer = await asyncio.open_connection(*self.address)
        try:
            writer.write(mqtt.connect(self.client_id, clean=False))
            decoder = mqtt.Decoder()
            while data := await reader.read(1 << 16):
                for kind, flags, body in decoder.feed(data):
                    self._take(kind, flags, body, writer)
                await writer.drain()
        finally:
            writer.close()

    def _take(self, kind, flags, body, writer):
        if kind == mqtt.CONNACK:
            if body[1] != 0:
                raise EOFError(f"the broker refuses the connection: {body[1]}")
            self._begin(writer)
        elif kind == mqtt.PUBLISH:
            topic, identifier, payload = mqtt.message_of(flags, body)
            self.received(topic, payload)
            if identifier is not None:
                writer.write(mqtt.puback(identifier))
        elif kind == mqtt.PUBACK:
            message = self.unacknowledged.pop(int.from_bytes(body, "big"), None)
            if message is not None:
                self.acknowledged += 1
                if self.on_acknowledged:
                    self.on_acknowledged(message[1])
            if self.waiting:
                self._send(*self.waiting.popleft())

    def _begin(self, writer):
        self.connections += 1
        for number, topic in enumerate(self.topics, 1):
            writer.write(mqtt.subscribe(topic, number))
        self._writer = writer
        for identifier, (topic, payload) in self.unacknowledged.items():
            writer.write(mqtt.publish(topic, payload, identifier, again=True))
        while self.waiting and len(self.unacknowledged) < 0x8000:
            self._send(*self.waiting.popleft())

    def _send(self, topic, payload):
        self._identifier = self._identifier % 65535 + 1
        while self._identifier in self.unacknowledged:
            self._identifier = self._identifier % 65535 + 1
        self.unacknowledged[self._identifier] = (topic, payload)
        self._writer.write(mqtt.publish(topic, payload, self._identifier))
