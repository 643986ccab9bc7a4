"""Links without a broker, for tests on virtual time.

A message that one link publishes reaches the others in the loop's next iteration.
"""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from server.bus.broker import Broker
from server.bus.link import Link
from server.bus.subscriptions import MessageHandler, matching_filters


class MemoryBroker:
    """Delivers each message to all links, in order; retains a link's status until it ends."""

    def __init__(self) -> None:
        self.links: list[MemoryLink] = []
        self.statuses: dict[str, bytes] = {}

    def link(self, name: str, status_topic: str) -> "MemoryLink":
        """Creates a connected link."""
        link = MemoryLink(self, name, status_topic)
        self.links.append(link)
        link.health.set_is_up(True)
        return link

    def send(self, topic: str, payload: bytes) -> None:
        for link in self.links:
            asyncio.get_running_loop().call_soon(link.deliver, topic, payload)

    def set_status(self, topic: str, payload: bytes) -> None:
        self.statuses[topic] = payload
        self.send(topic, payload)

    def end(self, link: "MemoryLink") -> None:
        """Ends a link without a DISCONNECT; its will clears its status."""
        self.links.remove(link)
        self.set_status(link._status_topic, b"")

    def disconnect_all(self) -> None:
        """Disconnects every link, as if the broker had ended."""
        for link in self.links:
            link.health.set_is_up(False)


class MemoryLink(Link):
    """A `server.bus.link.Link` over a `MemoryBroker`."""

    def __init__(self, broker: MemoryBroker, name: str, status_topic: str) -> None:
        self._memory = broker
        super().__init__(Broker("memory", 0), name, status_topic)

    def publish(self, topic: str, payload: bytes, *, reliable: bool = False) -> None:
        if self.is_up:
            self._memory.send(topic, payload)

    def set_status(self, payload: bytes) -> None:
        self._memory.set_status(self._status_topic, payload)

    def subscribe(
        self, topic_filter: str, receive: MessageHandler, *, include_own: bool = False
    ) -> Any:
        for topic, payload in self._memory.statuses.items():
            if payload and topic_filter in matching_filters(topic):
                asyncio.get_running_loop().call_soon(receive, topic, payload)
        return super().subscribe(topic_filter, receive, include_own=include_own)

    def deliver(self, topic: str, payload: bytes) -> None:
        if self.is_up:
            self._on_message(cast(Any, SimpleNamespace(topic=topic, payload=payload)))
