"""The addresses of this machine in its networks."""

import socket
from collections.abc import Iterator

#: Targets of probes, the most likely network first: an address for documentation (RFC 5737), which
#: is routed like any foreign one, then the private networks (RFC 1918).
IPV4_TARGETS = ("192.0.2.1", "192.168.0.1", "10.0.0.1", "172.16.0.1")
#: The same for IPv6: an address for documentation (RFC 3849).
IPV6_TARGETS = ("2001:db8::1",)


def network_addresses(is_ipv6: bool = False) -> tuple[str, ...]:
    """This machine's addresses in its networks, the most likely one first; empty if it has none.

    It sends no packet: connecting a UDP socket only looks up the route.
    """
    return tuple(dict.fromkeys(_local_addresses(is_ipv6)))


def _local_addresses(is_ipv6: bool) -> Iterator[str]:
    """Yields the local address of the route to each target, if there is one."""
    family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
    for target in IPV6_TARGETS if is_ipv6 else IPV4_TARGETS:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((target, 9))
            except OSError:
                continue
            address = str(probe.getsockname()[0])
        if not address.startswith("127.") and address != "::1":
            yield address
