"""A slow network on loopback: what comes back over it takes its time."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

PIECE = 64 * 1024


class SlowLink:
    """Listens at `address` and passes all on to a server, whose bytes come at so many a second.

    It takes no more from the server than it has passed on: the rest waits in the server's process.
    """

    def __init__(self, server: str, bytes_per_second: float) -> None:
        host, _, port = server.rpartition(":")
        self._server = (host, int(port))
        self._seconds = PIECE / bytes_per_second
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for end in (self._listener, *self._ends):
            _close(end)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            server = socket.socket()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)
            self._ends += [client, server]
            try:
                server.connect(self._server)
            except OSError:
                _close(client)
                continue
            for ends, seconds in (((client, server), 0.0), ((server, client), self._seconds)):
                threading.Thread(target=_pass_on, args=(*ends, seconds), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket, seconds: float) -> None:
    """All bytes, each piece in so many seconds; when one end closes, so does the other."""
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE):
            time.sleep(seconds * len(piece) / PIECE)
            target.sendall(piece)
    _close(source)
    _close(target)


def _close(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
