"""A line of code, as messages name it and as programs find it."""

from tf_cluster.findings.finding import Place, Related


class CodePlace(str):
    """`train.py:12`, with the file's path and the line."""

    path: str
    line: int

    def __new__(cls, shown: str, path: str, line: int) -> "CodePlace":
        """Make the text of the file's name in messages and the line."""
        one = super().__new__(cls, f"{shown}:{line}")
        one.path = path
        one.line = line
        return one

    @property
    def related(self) -> Related:
        """What a finding takes along."""
        return Related(self.path, Place(self.line, 1))
