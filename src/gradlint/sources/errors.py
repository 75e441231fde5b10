"""Why a file is not analysed: said to the user as finding GL000, never passed over in silence."""

from __future__ import annotations


class NotAnalysed(Exception):
    """A source that cannot be read or parsed.

    `message` says what is wrong and `help` what to do. `line` and `column` start at 1.
    """

    def __init__(self, message: str, help: str, line: int = 1, column: int = 1) -> None:
        # All of it goes to Exception, so that it survives a trip between processes.
        super().__init__(message, help, line, column)
        self.message = message
        self.help = help
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"
