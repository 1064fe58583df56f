"""What an acceptance job left in its folder, looked at from outside when the job has ended.

What the job says of its files only tells where to look. Nothing is followed out of the folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from verify_ext.artifacts.model import Examined, Expected
from verify_ext.kinds import Place, Seen
from verify_ext.kinds.harness_package.accept.plan import Step, acceptance, plan, tool_step
from verify_ext.kinds.harness_package.accept.results import path_claims, result_of_step
from verify_ext.model import Checked, Extension
from verify_ext.scratch import make_readable
from verify_ext.source import SourceError, read_bytes

STATE_FOLDER = ".state"
_STATE_LIMIT_BYTES = 1024 * 1024
_STATE_LIMIT_FILES = 500
_STRAY_LIMIT = 50
_EXAMINE_S = 60.0
_EXAMINE_BYTES = 1024 * 1024 * 1024
# What libraries and the harness itself write beside their work; nobody looks for a product there.
_OURS = frozenset({"logs", "__pycache__"})


@dataclass(frozen=True, kw_only=True)
class Made:
    """A file that a result names. `path` is relative to the output folder of its step."""

    path: str
    inside: bool
    """Whether it is below that folder: elsewhere its user does not find it."""
    size: int | None = None
    """In bytes; None if there is no such file."""
    sha256: str = ""
    examined: Examined | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found: files by step and the field that names them, state, strays."""

    made: dict[tuple[str, str], Made] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    """The texts of files in the state folder, by path below the extension."""
    stray: tuple[str, ...] = ()
    """Files outside output and state folders, relative to the job's folder."""


def inspect(extension: Extension, checked: Checked, place: Place, seen: Seen) -> Found:
    """Look at the job's folder. Raises nothing for what is in it."""
    spec = acceptance(checked)
    assert spec is not None  # without one there is no job
    make_readable(place.root, place.output, place.folder / "work", place.folder / "home")
    steps = {step.id: step for group in plan(spec, checked.components, place.repeat) for step in group}
    wanted: dict[tuple[str, str], tuple[Path, Expected]] = {}
    made: dict[tuple[str, str], Made] = {}
    for number, test in enumerate(spec.tool_tests):
        step = steps[tool_step(number)]
        result = result_of_step(seen, step.id, test.call.tool_name)
        for claim in path_claims(test, result) if result is not None else ():
            key = (step.id, claim.field)
            made[key] = located = _made(claim.path, step, place)
            if located.inside and located.size is not None:
                wanted[key] = (step.output(place) / located.path, claim.expected)
    made |= _examined(made, wanted)
    return Found(made=made, state=_state(place), stray=tuple(_strays(extension, place)))


def _made(path: str, step: Step, place: Place) -> Made:
    """Find a file as the job's own process would have: relative to where it ran."""
    output = step.output(place)
    try:
        full = (place.folder / "work" / path).resolve()
        inside = full.is_relative_to(output.resolve())
        shown = full.relative_to(output.resolve()).as_posix() if inside else _shown(full, place)
    except (OSError, ValueError, RuntimeError):  # a circle of links, a name that is none
        return Made(path=path, inside=True)
    try:
        status = os.lstat(full) if inside else None
    except OSError:
        status = None
    if status is None or not stat.S_ISREG(status.st_mode):
        return Made(path=shown, inside=inside)
    return Made(path=shown, inside=True, size=status.st_size)


def _shown(full: Path, place: Place) -> str:
    """Return how a path outside the output folder is named in a report: never by this machine's folders."""
    for folder, word in ((place.root, "<extension>"), (place.folder, "<job>")):
        if full.is_relative_to(folder.resolve()):
            return f"{word}/{full.relative_to(folder.resolve()).as_posix()}"
    return str(full)


def _examined(
    made: dict[tuple[str, str], Made], wanted: dict[tuple[str, str], tuple[Path, Expected]]
) -> dict[tuple[str, str], Made]:
    from verify_ext.artifacts.apart import Request, examine_apart

    keys = list(wanted)
    requests = [Request(path=wanted[key][0], shown=made[key].path, expected=wanted[key][1]) for key in keys]
    if not requests:
        return {}
    examined = examine_apart(requests, deadline_s=_EXAMINE_S, memory_bytes=_EXAMINE_BYTES)
    return {
        key: replace(made[key], examined=found, sha256=_sha256(wanted[key][0]))
        for key, found in zip(keys, examined, strict=True)
    }


def _sha256(path: Path) -> str:
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _state(place: Place) -> dict[str, str]:
    """Return the small text files of the state folder: what sessions left for each other."""
    texts: dict[str, str] = {}
    for path in _files(place.root / STATE_FOLDER):
        if len(texts) >= _STATE_LIMIT_FILES:
            break
        name = path.relative_to(place.root).as_posix()
        try:
            texts[name] = read_bytes(path, name, limit=_STATE_LIMIT_BYTES).decode("utf-8", "replace")
        except SourceError:
            continue  # a link, a device, a huge file: no state that anybody could read
    return texts


def _strays(extension: Extension, place: Place) -> Iterator[str]:
    """Yield files that were made where nobody asked for them."""
    own = set(extension.files)
    count = 0
    for folder in (place.root, place.folder / "work", place.folder / "home"):
        for path in _files(folder):
            name = path.relative_to(folder)
            if name.parts[0] in _OURS or path.suffix == ".pyc":
                continue
            if folder == place.root and (name.parts[0] == STATE_FOLDER or name.as_posix() in own):
                continue
            if folder.name == "home" and name.parts[0].startswith("."):
                continue  # caches and settings of libraries
            count += 1
            if count > _STRAY_LIMIT:
                return
            yield PurePosixPath(path.relative_to(place.folder)).as_posix()


def _files(folder: Path) -> Iterator[Path]:
    """Yield what is no folder below a folder, in order; links are not followed."""
    for here, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(files):
            yield Path(here, name)
