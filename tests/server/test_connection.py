"""A WebSocket hands messages over at once, or through `recv`, without changing their order."""

import random
from collections.abc import Iterator

import pytest
from websockets.frames import Frame, Opcode

from tests.support.node import serve

#: A message that is answered at once, unless an earlier one waits for its answer.
PING = '{"t":"ping","id":"%d"}'
#: The same with a character that is not ASCII, in a field that the server ignores.
FOREIGN_PING = '{"t":"ping","id":"%d","x":"é"}'
#: A message whose answer waits for the store.
CREATE = '{"t":"create","id":"%d","game":"tic-tac-toe"}'


def frames(number: int, text: str, is_split: bool) -> Iterator[bytes]:
    """Yields the frames of a client's message: one, or two with `is_split`."""
    data = (text % number).encode()
    cut = len(data) // 2 if is_split else len(data)
    yield Frame(Opcode.TEXT, data[:cut], fin=not is_split).serialize(mask=True)
    if is_split:
        yield Frame(Opcode.CONT, data[cut:]).serialize(mask=True)


@pytest.mark.parametrize("seed", range(8))
async def test_answers_come_in_the_order_of_the_messages(seed: int) -> None:
    """Each message, in one frame or in two, gets one answer, in the order of the messages."""
    rng = random.Random(seed)
    texts = [*rng.choices([PING, FOREIGN_PING, CREATE], [6, 2, 1], k=40), CREATE, PING]
    sent = [
        frame
        for number, text in enumerate(texts)
        for frame in frames(number, text, is_split=rng.random() < 0.3)
    ]
    async with serve() as node, node.guest() as client:
        gate = node.fake.store.hold("create_room")
        while sent:
            size = rng.randint(1, 12)
            client.connection.transport.write(b"".join(sent[:size]))
            del sent[:size]
        await node.fake.store.waiting["create_room"].wait()
        gate.set()
        answered = [int((await client.receive())["id"]) for _ in texts]
    assert answered == list(range(len(texts)))
