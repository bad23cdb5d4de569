"""How the child hears SIGTERM, whatever its main thread is busy with."""

from __future__ import annotations

import os
import signal
import threading

from tf_cluster_trainer import exit_codes


class Stop:
    """SIGTERM asks to stop. Until `save_first` is called it ends the process at once.

    Python runs signal handlers in the main thread only, which may be inside TensorFlow for long
    (waiting for a peer). The signal's number also goes to a pipe, and a thread reads that.
    """

    def __init__(self) -> None:
        self.requested = threading.Event()
        self._decision = threading.Lock()
        self._save_first = False

    @classmethod
    def listening(cls) -> Stop:
        """Start to listen; call it in the main thread."""
        stop = cls()
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, lambda *_: None)
        # A terminal's Ctrl-C reaches the whole group; the supervisor turns it into a SIGTERM.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=stop._listen, args=(reader,), name="stop", daemon=True).start()
        return stop

    def save_first(self) -> None:
        """From now on a request only sets `requested`: the caller saves and ends by itself."""
        with self._decision:
            self._save_first = True

    def at_once(self) -> None:
        """There is nothing left to save: a request ends the process again, one made before too."""
        with self._decision:
            self._save_first = False
            if self.requested.is_set():
                os._exit(exit_codes.STOPPED)

    def _listen(self, reader: int) -> None:
        while signals := os.read(reader, 64):
            if signal.SIGTERM in signals:
                with self._decision:
                    self.requested.set()
                    if not self._save_first:
                        os._exit(exit_codes.STOPPED)
