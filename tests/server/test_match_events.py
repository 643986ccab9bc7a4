"""The events around a match over HTTP, from which a page that is loaded again writes its log."""

from server.protocol.codes import Code
from tests.support.node import Node, serve


async def read(node: Node, match: str) -> tuple[int, list[dict[str, object]]]:
    async with node.http() as http:
        answer = await http.request(f"/api/matches/{match}/events")
        return answer.status, answer.json.get("events", answer.json)


async def test_the_events_of_a_match_are_those_of_its_followers_without_chat() -> None:
    """The events are the messages that a follower received, from the room's creation up to the next
    match. Lines of chat are hidden, those to spectators and private ones too.
    """
    async with serve() as node, node.guest(name="Ada") as ada, node.guest(name="Ben") as ben:
        seats = [{"who": "me"}, {"who": "open"}]
        created = await ada.ack("create", game="tic-tac-toe", seats=seats)
        room = created["room"]
        await ada.ack("join", room=room)
        await ben.ack("sit", room=room, seat=1)
        await ada.ack("chat", room=room, text="hello")
        async with node.guest(name="Cyd") as cyd:
            await cyd.ack("chat", room=room, text="psst", to="spectators")
            await cyd.ack("chat", room=room, text="/help me")
        await ada.ack("resign", room=room)
        await ada.ack("rematch", room=room)
        await ben.ack("rematch", room=room)
        await ada.ack("chat", room=room, text="again")
        received = [m for m in ada.messages if m["t"] == "event"]
        first, second = [m["match"] for m in received if m["kind"] == "started"]
        status, events = await read(node, first)
        assert status == 200
        assert [event["v"] for event in events] == list(range(1, len(events) + 1))
        live = {m["v"]: {"t": "event", "room": room} | m for m in received}
        for event in events:
            if event["kind"] == "hidden":
                assert live.get(event["v"], {"kind": "hidden"})["kind"] in ("said", "hidden")
            elif event["v"] in live:
                assert event == live[event["v"]]
        kinds = [event["kind"] for event in events]
        assert kinds[-2:] == ["finished", "offered"]
        assert kinds.count("hidden") == 3
        assert "/help me" not in str(events)
        assert "said" not in kinds
        _, later = await read(node, second)
        assert [event["kind"] for event in later] == ["started", "hidden"]
        status, refusal = await read(node, "none")
        assert (status, refusal["code"]) == (404, Code.MATCH_UNKNOWN)  # type: ignore[call-overload]
