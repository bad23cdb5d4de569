"""The live block on a terminal: a bar, figures and the current activity."""

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tf_cluster.progress.document import Progress
from tf_cluster.progress.text import figures, what_it_does


class LiveBlock:
    """Two lines that are redrawn in place, below the messages."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, refresh_per_second=4, redirect_stdout=False)
        self._live.start()

    def show(self, progress: Progress) -> None:
        """Draw the block."""
        self._live.update(_block(self._name, progress))

    def say(self, words: str) -> None:
        """Print above the block."""
        self._console.print(Text(f"{self._name}: {words}"))

    def close(self) -> None:
        """Stop drawing; the block stays as it is."""
        self._live.stop()


def _block(name: str, progress: Progress) -> Group:
    line = Table.grid(padding=(0, 2))
    bar = ProgressBar(
        total=progress.total or 1,
        completed=progress.step or 0,
        width=30,
        pulse=progress.step is None,
    )
    line.add_row(Text(name, style="bold"), bar, Text(", ".join(figures(progress))))
    words = Text(what_it_does(progress), style="dim", overflow="ellipsis", no_wrap=True)
    return Group(line, words)
