"""Free ports for the programs of a test: no two programs get the same port."""

import socket
from types import SimpleNamespace

import pytest

from server.deploy.free_ports import END, LOWEST, free_port, free_ports


def test_no_port_is_returned_twice() -> None:
    """A port is not free again before its program listens: the next call gets other ports."""
    ports = [port for _ in range(500) for port in free_ports(4)]
    ports += [free_port() for _ in range(100)]
    assert len(set(ports)) == len(ports)
    assert all(LOWEST <= port < END for port in ports)


def test_a_port_in_use_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port on which a program listens is not free."""
    with socket.socket() as program:
        program.bind(("127.0.0.1", 0))
        program.listen()
        taken = program.getsockname()[1]
        drawn = iter((taken, *range(LOWEST, END)))
        monkeypatch.setattr(
            "server.deploy.free_ports.random.SystemRandom",
            lambda: SimpleNamespace(randrange=lambda low, end: next(drawn)),
        )
        assert free_port() != taken
