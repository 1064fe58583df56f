"""Drives a package through the harness's own loop, step by step, and says what it saw (L3)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from pathlib import Path
from typing import Any

from .load import declared_class
from .shown import Say, cut, error_of
from .watching import Watch

_CHUNKS_LIMIT = 300
_CHUNK_LIMIT = 4_000


def accept(contract: Any, request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Take the steps of a plan, group by group, those of a group at the same time.

    A step names its `agent`: `bare` has not loaded the package, `main` has, `loop` works in the
    outer task loop, `apart` lives in a process of its own, which shares nothing but files.
    """
    apart = _Apart(contract, request) if _needs(request, "apart") else None
    stage = _Stage(contract, request, say, apart)
    try:
        return asyncio.run(stage.play())
    finally:
        if apart is not None:
            apart.close()


def _needs(request: dict[str, Any], agent: str) -> bool:
    return any(step["agent"] == agent for group in request["groups"] for step in group)


class _Stage:
    """The agents of one process, and what they did."""

    def __init__(self, contract: Any, request: dict[str, Any], say: Say, apart: _Apart | None) -> None:
        self._contract = contract
        self._request = request
        self._say = say
        self._apart = apart
        self._root = Path(request["root"])
        self._agents: dict[str, Any] = {}
        self._watch = Watch(self._root, self._root.parent.parent)

    async def play(self) -> dict[str, Any]:
        self._watch.mark_requests()
        self._watch.watch_files()
        seen: dict[str, Any] = {"error": None, "cards": [], "classes": {}, "steps": {}, "files": []}
        for group in self._request["groups"]:
            with self._watch.alone(group[0]["id"] if len(group) == 1 else None):
                try:
                    for step in group:
                        await self._agent(step["agent"])
                except BaseException as error:
                    seen["error"] = error_of(error, self._root)
                    break
                await asyncio.gather(*(asyncio.create_task(self._take(step)) for step in group))
        seen["cards"] = [self._card(card) for card in self._cards()]
        for item in self._request["components"]:
            seen["classes"][item["id"]] = declared_class(self._contract, self._root, item)
        return {**seen, "steps": self._watch.steps, "files": self._watch.files}

    def _cards(self) -> list[Any]:
        agent = self._agents.get("main") or self._agents.get("loop")
        return [] if agent is None else self._contract.cards(agent)

    def _card(self, card: Any) -> dict[str, Any]:
        tool = self._contract.tool(getattr(card, "id", None))
        kind = None if tool is None else type(tool)
        return {
            "name": str(card.name),
            "tool": None if kind is None else {"class": kind.__name__, "module": str(kind.__module__)},
        }

    async def _agent(self, name: str) -> Any:
        """Return an agent, made and loaded when it is first needed."""
        if name == "apart":
            return None
        if name not in self._agents:
            agent = self._contract.new_agent(self._request["model_url"], loop=name == "loop")
            self._agents[name] = agent
            if name != "bare":
                self._say({"type": "progress", "component": None, "stage": "load"})
                self._watch.watch_hooks(agent)
                await self._contract.load(agent, self._root / self._request["manifest"])
                await self._contract.settle(agent)
                await self._watch.watch_tools(self._contract, agent)
        return self._agents[name]

    async def _take(self, step: dict[str, Any]) -> None:
        self._watch.enter(step["id"])
        record = self._watch.step(step["id"])
        self._say({"type": "progress", "component": step["component"], "stage": step["id"]})
        try:
            if step["agent"] == "apart":
                record.update(await asyncio.to_thread(self._apart.take, step))  # type: ignore[union-attr]
            else:
                await self._ask(await self._agent(step["agent"]), step, record)
        except BaseException as error:
            record["error"] = error_of(error, self._root)

    async def _ask(self, agent: Any, step: dict[str, Any], record: dict[str, Any]) -> None:
        inputs = {"query": step["query"], "conversation_id": step["session"]}
        session = await self._contract.open_session(agent, step["session"], inputs)
        if not step["stream"]:
            await agent.invoke(inputs, session)
            await session.post_run()
            return
        async for chunk in agent.stream(inputs, session):
            if len(record["stream"]) < _CHUNKS_LIMIT:
                record["stream"].append(_chunk(chunk))
        await session.post_run()


def _chunk(chunk: Any) -> dict[str, str]:
    payload = getattr(chunk, "payload", chunk)
    return {"type": cut(str(getattr(chunk, "type", "")), 100), "text": cut(str(payload), _CHUNK_LIMIT)}


class _Apart:
    """A process forked before anything was loaded: what it knows of a session it read from files."""

    def __init__(self, contract: Any, request: dict[str, Any]) -> None:
        order_read, self._orders = os.pipe()
        self._answers, answer_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(self._orders)
                os.close(self._answers)
                _serve_apart(contract, request, order_read, answer_write)
            finally:
                os._exit(0)
        os.close(order_read)
        os.close(answer_write)

    def take(self, step: dict[str, Any]) -> dict[str, Any]:
        """Have a step taken there and return its record."""
        os.write(self._orders, json.dumps(step).encode() + b"\n")
        with os.fdopen(os.dup(self._answers), "r", encoding="utf-8") as stream:
            line = stream.readline()
        if not line:
            raise RuntimeError("the process ended")
        record: dict[str, Any] = json.loads(line)
        return record

    def close(self) -> None:
        for descriptor in (self._orders, self._answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _serve_apart(contract: Any, request: dict[str, Any], orders: int, answers: int) -> None:
    with os.fdopen(orders, "r", encoding="utf-8") as stream:
        line = stream.readline()
    if not line:
        return
    step = {**json.loads(line), "agent": "main"}
    own = {**request, "groups": [[step]]}
    seen = asyncio.run(_Stage(contract, own, lambda frame: None, None).play())
    record = seen["steps"].get(step["id"]) or {"error": seen["error"]}
    data = json.dumps({**record, "error": record["error"] or seen["error"]}).encode() + b"\n"
    while data:
        data = data[os.write(answers, data) :]
