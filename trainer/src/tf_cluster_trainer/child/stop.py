"""How the child notices SIGTERM, even while its main thread is busy."""

from __future__ import annotations

import os
import signal
import threading

from tf_cluster_trainer import exit_codes


class Stop:
    """SIGTERM asks the child to stop. Until `save_first` is called it ends the process at once.

    Python runs signal handlers only in the main thread, which may wait inside TensorFlow for a long
    time (for a peer). So the signal's number also goes to a pipe that a thread reads.
    """

    def __init__(self) -> None:
        self.requested = threading.Event()
        self._decision = threading.Lock()
        self._save_first = False

    @classmethod
    def listening(cls) -> Stop:
        """Start to listen. Call it in the main thread."""
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
        """From now on a SIGTERM only sets `requested`: the caller saves and ends by itself."""
        with self._decision:
            self._save_first = True

    def at_once(self) -> None:
        """Nothing is left to save: a SIGTERM, also an earlier one, ends the process at once."""
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
