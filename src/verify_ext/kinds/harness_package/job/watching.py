"""Watches, from inside the harness's process, what a package does in each step.

What is seen here is the extension's own process speaking: observed, never proof. The trusted side
checks files and the model's transcript outside of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from .shown import cut, error_of, inside, value_of

STEP_HEADER = "x-verify-ext-step"
STATE_FOLDER = ".state"
_STEP: ContextVar[str | None] = ContextVar("verify_ext_step", default=None)
_TOOL: ContextVar[str | None] = ContextVar("verify_ext_tool", default=None)
_LAST = -1_000_000
"""Lower than any priority: called after every other rail, in both directions."""
_FILES_LIMIT = 2_000
_CALLS_LIMIT = 200
_HOOKS_LIMIT = 500
_WRITING = os.O_WRONLY | os.O_RDWR


class Watch:
    """What was seen, by step."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._steps: dict[str, dict[str, Any]] = {}
        self._only: str | None = None
        self.files: list[dict[str, Any]] = []

    def step(self, name: str) -> dict[str, Any]:
        """Return the record of a step, made at its first use."""
        return self._steps.setdefault(
            name, {"error": None, "calls": [], "executions": [], "hooks": [], "stream": []}
        )

    @property
    def steps(self) -> dict[str, dict[str, Any]]:
        return self._steps

    @contextlib.contextmanager
    def alone(self, name: str | None) -> Iterator[None]:
        """Let what has lost its context count for this step: nothing else runs beside it."""
        self._only = name
        try:
            yield
        finally:
            self._only = None

    def current(self) -> str | None:
        return _STEP.get() or self._only

    def enter(self, name: str) -> None:
        """Let what happens in this context from now on belong to a step."""
        _STEP.set(name)

    # --- the model's requests ----------------------------------------------------------------

    def mark_requests(self) -> None:
        """Send the step along with every request, so that concurrent sessions are told apart."""
        import httpx

        original = httpx.AsyncClient.send

        async def send(client: Any, request: Any, **options: Any) -> Any:
            request.headers[STEP_HEADER] = self.current() or ""
            return await original(client, request, **options)

        httpx.AsyncClient.send = send

    # --- hooks -------------------------------------------------------------------------------

    def watch_hooks(self, agent: Any) -> None:
        """See each call of a rail's hook, and what it raises: the harness swallows that."""
        register = agent._register_rail_selective

        async def watched(rail: Any) -> Any:
            hooks = {event: self._hook(rail, event, hook) for event, hook in rail.get_callbacks().items()}
            object.__setattr__(rail, "get_callbacks", lambda: hooks)  # the same ones to unregister
            return await register(rail)

        agent._register_rail_selective = watched

    def _hook(self, rail: Any, event: Any, hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
        name = str(getattr(event, "value", event))
        kind = type(rail)
        label = {"class": kind.__name__, "module": str(kind.__module__), "event": name}

        def note(error: BaseException | None) -> None:
            step = self.current()
            hooks = self.step(step)["hooks"] if step else []
            if len(hooks) < _HOOKS_LIMIT:
                hooks.append({**label, "error": None if error is None else error_of(error, self._root)})

        # Neither kind is made the other: the harness treats them differently, and so must we.
        if asyncio.iscoroutinefunction(hook):

            async def watched(ctx: Any) -> Any:
                try:
                    result = await hook(ctx)
                except BaseException as error:
                    note(error)
                    raise
                note(None)
                return result

            return watched

        def watched_plain(ctx: Any) -> Any:
            try:
                result = hook(ctx)
            except BaseException as error:
                note(error)
                raise
            note(None)
            return result

        return watched_plain

    # --- tools -------------------------------------------------------------------------------

    async def watch_tools(self, contract: Any, agent: Any) -> None:
        """See what each tool is called with and what comes of it, through the harness's own chain."""
        for card in contract.cards(agent):
            tool = contract.tool(getattr(card, "id", None))
            if tool is not None:
                with contextlib.suppress(Exception):  # a tool that lets nothing be set is seen by the rail
                    object.__setattr__(tool, "invoke", self._execution(str(card.name), tool.invoke))
        await agent.register_rail(_tracking_rail(self))

    def _execution(self, name: str, invoke: Callable[..., Any]) -> Callable[..., Any]:
        def note(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
            step = self.current()
            executions = self.step(step)["executions"] if step else []
            if len(executions) < _CALLS_LIMIT:
                given = arguments[0] if arguments else options.get("inputs")
                executions.append({"name": name, "arguments": value_of(given)["value"]})
            _TOOL.set(name)

        if asyncio.iscoroutinefunction(invoke):

            async def watched(*arguments: Any, **options: Any) -> Any:
                note(arguments, options)
                try:
                    return await invoke(*arguments, **options)
                finally:
                    _TOOL.set(None)

            return watched

        def watched_plain(*arguments: Any, **options: Any) -> Any:
            note(arguments, options)
            return invoke(*arguments, **options)

        return watched_plain

    def called(self, ctx: Any) -> None:
        """Keep what came of a tool call, as the host gets it."""
        step, inputs = self.current(), ctx.inputs
        calls = self.step(step)["calls"] if step else []
        if len(calls) >= _CALLS_LIMIT:
            return
        error = getattr(ctx, "exception", None)
        calls.append(
            {
                "name": str(inputs.tool_name),
                "result": value_of(inputs.tool_result),
                "error": None if error is None else error_of(error, self._root),
                "message": cut(str(getattr(inputs.tool_msg, "content", "")), 2_000),
            }
        )

    # --- files -------------------------------------------------------------------------------

    def watch_files(self) -> None:
        """See which files are opened for writing, moved, and, of the state folder, read."""
        own = str(self._folder) + os.sep
        state = str(self._root / STATE_FOLDER) + os.sep
        busy = False

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal busy
            if event not in ("open", "os.rename") or busy or len(self.files) >= _FILES_LIMIT:
                return
            busy = True
            try:
                with contextlib.suppress(Exception):  # a path that is none
                    self._opened(event, arguments, own, state)
            finally:
                busy = False

        sys.addaudithook(hook)

    def _opened(self, event: str, arguments: tuple[Any, ...], own: str, state: str) -> None:
        step = self.current()
        paths = [os.path.abspath(os.fsdecode(path)) for path in arguments[: 2 if event == "os.rename" else 1]]
        if step is None or not paths[-1].startswith(own):
            return
        flags = arguments[2] if event == "open" else 0
        how = "move" if event == "os.rename" else _how(flags)
        if how == "read" and not paths[-1].startswith(state):
            return
        file, line = _frame(self._root)
        self.files.append(
            {
                "step": step,
                "tool": _TOOL.get(),
                "how": how,
                "path": os.path.relpath(paths[-1], self._folder),
                "from": os.path.relpath(paths[0], self._folder) if how == "move" else None,
                "file": file,
                "line": line,
            }
        )


def _how(flags: Any) -> str:
    if not isinstance(flags, int) or not flags & _WRITING:
        return "read"
    if flags & os.O_APPEND:
        return "append"
    return "create" if flags & os.O_EXCL else "write"


def _frame(root: Path) -> tuple[str | None, int]:
    frame = sys._getframe(3)
    prefix = str(root) + os.sep
    while frame is not None:
        if frame.f_code.co_filename.startswith(prefix):
            return inside(frame.f_code.co_filename, root), frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None, 0


def _tracking_rail(watch: Watch) -> Any:
    """Return the rail that sees each tool call when every other rail is done with it (seed, L3)."""
    from openjiuwen.core.single_agent.rail.base import AgentRail

    class TrackingRail(AgentRail):  # type: ignore[misc] # the harness is not here when types are checked
        priority = _LAST

        async def after_tool_call(self, ctx: Any) -> None:
            watch.called(ctx)

    return TrackingRail()
