"""The subscriptions of a link: who receives which messages, and what the broker knows of it."""

import asyncio
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import aiomqtt
import structlog
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from server.bus.broker import Broker

log = structlog.get_logger()

#: Maximum number of subscriptions in one packet.
SUBSCRIBE_BATCH = 100

#: Called with the topic and the payload of a message.
Receive = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class _Subscription:
    receivers: list[Receive]
    options: SubscribeOptions


class Subscriptions:
    """The topic filters that a link has subscribed to, and the receivers of each."""

    def __init__(self, broker: Broker, on_subscribed: Callable[[frozenset[str]], None]) -> None:
        """`on_subscribed` is called with the topic filters that the broker begins to serve."""
        self._broker = broker
        self._on_subscribed = on_subscribed
        self._wanted: dict[str, _Subscription] = {}
        self._changed = asyncio.Event()

    def add(self, topic_filter: str, receive: Receive, include_own: bool) -> Callable[[], None]:
        """Adds a receiver until the returned function is called; see `Link.subscribe`."""
        subscription = self._wanted.get(topic_filter)
        if subscription is None:
            subscription = self._wanted[topic_filter] = _Subscription(
                [], SubscribeOptions(qos=1, noLocal=not include_own)
            )
            self._changed.set()
        subscription.receivers.append(receive)

        def unsubscribe() -> None:
            subscription.receivers.remove(receive)
            if not subscription.receivers and self._wanted.get(topic_filter) is subscription:
                del self._wanted[topic_filter]
                self._changed.set()

        return unsubscribe

    def deliver(self, topic: str, payload: bytes) -> None:
        """Calls the receivers of a message; logs their exceptions."""
        for topic_filter in matching_filters(topic):
            if (subscription := self._wanted.get(topic_filter)) is not None:
                for receive in tuple(subscription.receivers):
                    try:
                        receive(topic, payload)
                    except Exception:
                        log.exception("message handler failed", topic=topic)

    async def sync(self, client: aiomqtt.Client) -> None:
        """Synchronizes a new connection's subscriptions with these, in batches, until cancelled."""
        subscribed: dict[str, _Subscription] = {}
        while True:
            self._changed.clear()
            wanted = self._wanted
            removed = [
                name
                for name, subscription in subscribed.items()
                if wanted.get(name) is not subscription
            ][:SUBSCRIBE_BATCH]
            added = [name for name in wanted if name not in subscribed][:SUBSCRIBE_BATCH]
            if removed:
                await client.unsubscribe(
                    [self._broker.prefixed(name) for name in removed], timeout=math.inf
                )
                for name in removed:
                    del subscribed[name]
            elif added:
                options = [(self._broker.prefixed(name), wanted[name].options) for name in added]
                subscribed.update((name, wanted[name]) for name in added)
                codes = await client.subscribe(options, timeout=math.inf)
                for name, code in zip(added, codes, strict=True):
                    if isinstance(code, ReasonCode) and code.is_failure:
                        log.error("the broker refuses a subscription", topic=name, reason=str(code))
                self._on_subscribed(frozenset(added))
            else:
                await self._changed.wait()


@lru_cache(4096)
def matching_filters(topic: str) -> tuple[str, ...]:
    """All topic filters that match a topic."""
    parents = list(itertools.accumulate(topic.split("/"), lambda above, level: f"{above}/{level}"))
    return (topic, f"{topic.rpartition('/')[0]}/+", *(f"{parent}/#" for parent in parents))
