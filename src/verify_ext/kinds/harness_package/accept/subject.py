"""What the judges of the acceptance layer work on: one run of one extension, and how they find words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from verify_ext.codes import Place as CodePlace
from verify_ext.harness.scripted_model import Request
from verify_ext.kinds import Seen
from verify_ext.kinds.harness_package.accept.files import Found
from verify_ext.kinds.harness_package.accept.plan import BARE, Step
from verify_ext.kinds.harness_package.accept.rules import RULES
from verify_ext.kinds.harness_package.acceptance import AcceptanceSpec
from verify_ext.kinds.harness_package.places import same_class
from verify_ext.model import Checked, Declared, Extension, Finding, Provenance
from verify_ext.source import Spot


@dataclass(frozen=True)
class Run:
    """One acceptance run: the spec, the steps of its plan, and what was seen of them."""

    extension: Extension
    checked: Checked
    spec: AcceptanceSpec
    steps: dict[str, Step]
    seen: Seen
    usual: Seen | None = None
    """What the same exercise saw of the canary; None for the canary itself."""

    @property
    def found(self) -> Found:
        found: Found = self.seen.found
        return found

    @cached_property
    def tools(self) -> dict[str, Declared]:
        """The extension's tools by the names on their cards."""
        tools = {}
        for card in self.seen.observed["cards"]:
            for part in self.checked.components:
                if part.type == "tool" and card["tool"] and same_class(card["tool"], self.class_of(part)):
                    tools[card["name"]] = part
        return tools

    def class_of(self, part: Declared) -> dict[str, str]:
        """Return what the declared class calls itself: a module may bind it under another name."""
        found: dict[str, str] | None = self.seen.observed["classes"].get(part.id)
        return found or {"class": part.facts.get("class", ""), "module": part.facts.get("module", "")}

    @property
    def rails(self) -> list[Declared]:
        return [part for part in self.checked.components if part.type == "rail"]

    def record(self, step: str) -> dict[str, Any]:
        """Return what the job says of a step; of one that was not reached, that nothing happened."""
        nothing: dict[str, Any] = {"error": None, "calls": [], "executions": [], "hooks": [], "stream": []}
        record: dict[str, Any] = self.seen.observed["steps"].get(step, nothing)
        return record

    def requests(self, step: str) -> tuple[Request, ...]:
        """Return what reached the model in a step."""
        return self.seen.transcript.get(step, ())

    @property
    def bare(self) -> Request | None:
        """What reaches the model without the extension."""
        return next(iter(self.requests(BARE)), None)

    def hooks(self) -> Iterator[dict[str, Any]]:
        """Yield every call of a hook that was seen, with its step."""
        for step, record in self.seen.observed["steps"].items():
            for hook in record["hooks"]:
                yield {**hook, "step": step}

    def finding(
        self,
        rule: str,
        place: CodePlace,
        part: Declared | None,
        *,
        verified: bool = False,
        **words: Any,
    ) -> Finding:
        """Make a finding about a component, or about the extension as a whole."""
        return RULES.finding(
            rule,
            place,
            component=part.id if part is not None else None,
            provenance=Provenance.VERIFIED if verified else Provenance.OBSERVED,
            **words,
        )


def at(part: Declared) -> Spot:
    """Return the place where a component is declared."""
    return Spot(part.location)


def words_of(error: dict[str, Any]) -> str:
    """Return an exception, as a job describes it, in words."""
    return f"{error['type']}: {error['message']}" if error["message"] else str(error["type"])
