"""What is going on, on standard error: one moving line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from verify_ext.events import (
    CheckResult,
    EnvironmentPreparing,
    EnvironmentReady,
    Event,
    Started,
    SubjectDigested,
)
from verify_ext.model import Verdict
from verify_ext.report.text import inert, visible

if TYPE_CHECKING:
    from rich.status import Status


class Progress:
    """Shows events as they happen. A context manager: the moving line is gone afterwards."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._status: Status | None = None
        self._harnesses = self._planned = self._done = 0

    def __enter__(self) -> Self:
        if self._stream.isatty():
            from rich.console import Console
            from rich.text import Text

            self._status = Console(file=self._stream).status(Text("looking for extensions"))
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, event: Event) -> None:
        """Show one event, if it is one that a waiting person wants to see."""
        text = self._words(event)
        if text is None:
            return
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more: the run goes on
            self._print(inert(visible(text)))

    def _print(self, text: str) -> None:
        if self._status is None:
            print(f"verify-ext: {text}", file=self._stream, flush=True)
        else:
            from rich.text import Text

            self._status.update(Text(text))

    def _words(self, event: Event) -> str | None:
        match event:
            case Started():
                self._harnesses = len(event.harnesses)
            case SubjectDigested():
                self._planned += 1 + self._harnesses * len(event.exercises)
                return f"reading {event.extension}" if self._status else None
            case EnvironmentPreparing():
                return event.what
            case EnvironmentReady():
                word = "ready" if event.harness.canary is Verdict.PASS else "not usable"
                return f"{event.harness.requirement} is {word}"
            case CheckResult():
                self._done += 1
                where = f" in {event.harness}" if event.harness else ""
                counted = f"{self._done} of {self._planned}"
                return f"{event.extension}: {event.exercise}{where}: {event.verdict} ({counted})"
            case _:
                pass
        return None
