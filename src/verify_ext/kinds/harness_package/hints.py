"""Words that several checks use."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN_LIMIT = 200
_NAME_LIMIT = 100
_NAMES_LIMIT = 200


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for a name that is close to a known one, else nothing."""
    import difflib

    if len(name) > _NAME_LIMIT:
        return ""
    near = [other for other in known if len(other) <= _NAME_LIMIT][:_NAMES_LIMIT]
    close = difflib.get_close_matches(name, near, n=1, cutoff=0.7)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listed(items: Iterable[str]) -> str:
    """Return items as one short line, "nothing" if there are none."""
    return shortened(", ".join(items) or "nothing")


def shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_LIMIT else text[: _SHOWN_LIMIT - 1] + "…"
