"""The subscriptions of a link: the handlers of each topic filter, in step with the broker."""

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
MessageHandler = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class _Subscription:
    receivers: list[MessageHandler]
    options: SubscribeOptions


class Subscriptions:
    """The topic filters that a link has subscribed to, and the message handlers of each."""

    def __init__(self, broker: Broker, on_subscribed: Callable[[frozenset[str]], None]) -> None:
        """`on_subscribed` is called with the topic filters that the broker begins to serve."""
        self._broker = broker
        self._on_subscribed = on_subscribed
        self._wanted: dict[str, _Subscription] = {}
        self._changed = asyncio.Event()

    def add(
        self, topic_filter: str, receive: MessageHandler, include_own: bool
    ) -> Callable[[], None]:
        """Adds a message handler until the returned function is called; see `Link.subscribe`."""
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
        """Calls the handlers of a message; logs their exceptions."""
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
                topic
                for topic, subscription in subscribed.items()
                if wanted.get(topic) is not subscription
            ][:SUBSCRIBE_BATCH]
            added = [topic for topic in wanted if topic not in subscribed][:SUBSCRIBE_BATCH]
            if removed:
                await client.unsubscribe(
                    [self._broker.prefixed(topic) for topic in removed], timeout=math.inf
                )
                for topic in removed:
                    del subscribed[topic]
            elif added:
                options = [(self._broker.prefixed(topic), wanted[topic].options) for topic in added]
                subscribed.update((topic, wanted[topic]) for topic in added)
                codes = await client.subscribe(options, timeout=math.inf)
                for topic, code in zip(added, codes, strict=True):
                    if isinstance(code, ReasonCode) and code.is_failure:
                        log.error(
                            "the broker refuses a subscription", topic=topic, reason=str(code)
                        )
                self._on_subscribed(frozenset(added))
            else:
                await self._changed.wait()


@lru_cache(4096)
def matching_filters(topic: str) -> tuple[str, ...]:
    """All topic filters that match a topic."""
    parents = list(itertools.accumulate(topic.split("/"), lambda above, level: f"{above}/{level}"))
    return (topic, f"{topic.rpartition('/')[0]}/+", *(f"{parent}/#" for parent in parents))
