"""Chooses ports on loopback that nothing listens on."""

import socket


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """Choose ports that are all free at this moment; another program may still take one."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for each in sockets:
            each.bind((address, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
