"""A name server that says what a test wants, also something else at each look-up."""

import socket
from collections.abc import Iterable

from ssrfguard import Resolver


def name_server(*rounds: Iterable[str]) -> Resolver:
    """Return a resolver that gives these addresses, other ones at each look-up, the last ones for ever."""
    left = [list(each) for each in rounds]

    def look_up(_: str, port: int, *__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        addresses = left.pop(0) if len(left) > 1 else left[0]
        family = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(family[":" in each], socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    return look_up
