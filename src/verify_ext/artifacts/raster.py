"""What raster images have in common: every frame decoded, and something on it.

Sizes come from the header first: what claims more pixels than anybody shows is not decoded.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from verify_ext.artifacts.codes import ARTIFACT_FORMAT_INVALID, ARTIFACT_PLACEHOLDER_OUTPUT
from verify_ext.artifacts.guess import is_mangled
from verify_ext.artifacts.model import ArtifactFile, Depth, Examined, Expected, Fact
from verify_ext.codes import Code, Rule, Rules
from verify_ext.model import Finding, Severity

PIXELS_LIMIT = 179_000_000
"""Where Pillow itself refuses an image as a decompression bomb."""
PIXELS_DECODED = 89_000_000
SIZE_LIMIT_BYTES = 256 * 1024 * 1024
FRAMES_LIMIT = 200
_PICTURE = "docs/design.md, section 9"


def _rule(
    rule: str,
    message: str,
    remedy: str,
    why: str,
    severity: Severity = Severity.ERROR,
    code: Code = ARTIFACT_FORMAT_INVALID,
    source: str = _PICTURE,
) -> Rule:
    return Rule(
        code=code,
        rule=rule,
        layer=None,
        severity=severity,
        message=message,
        remedy=remedy,
        why=why,
        source=source,
    )


_SHOWS_NOTHING = "There is nothing to see."

RULES = Rules(
    _rule(
        "image-damaged",
        "the image cannot be decoded{where}: {problem}",
        "Write it with an image library, to its end; never pass its bytes through text.",
        "Viewers show a part of it, or nothing.",
    ),
    _rule(
        "image-too-large",
        "the image claims {width} × {height} pixels",
        "Make it smaller.",
        "A viewer that believes it runs out of memory.",
    ),
    _rule(
        "image-not-fully-checked",
        "the image is not fully checked: {problem}",
        "Nothing, if this is meant.",
        "What was not decoded was not judged.",
        Severity.WARNING,
    ),
    _rule(
        "image-end-missing",
        "the image lacks its end marker",
        "Write the file to its end.",
        "Viewers show it; strict programs refuse it.",
        Severity.WARNING,
    ),
    _rule(
        "image-trailing",
        "something follows the image: {what}",
        "Write nothing behind the image.",
        "Files that are two things at once are used to smuggle one of them.",
        Severity.WARNING,
    ),
    _rule(
        "image-pixel",
        "the image is {width} × {height} pixels",
        "Write the real picture.",
        _SHOWS_NOTHING,
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
    ),
    _rule(
        "image-transparent",
        "every pixel is transparent",
        "Draw something.",
        _SHOWS_NOTHING,
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
    ),
    _rule(
        "image-one-colour",
        "every pixel has one colour",
        "Draw something.",
        _SHOWS_NOTHING,
        code=ARTIFACT_PLACEHOLDER_OUTPUT,
    ),
)

Walk = Callable[[bytes], Iterator[tuple[str, dict[str, str]]]]
"""A format's own look at its bytes: yields rules of this module with their words."""


def examine_raster(
    file: ArtifactFile,
    depth: Depth,
    expected: Expected,
    name: str,
    walk: Walk | None = None,
    end: bytes = b"",
) -> Examined:
    """Examine an image of one format; facts: width, height, frames.

    `end` is what an image that lacks its end marker is decoded with, as viewers do.
    """
    if depth < Depth.STRUCTURE:
        return Examined(format=name)
    found: list[Finding] = []
    facts: dict[str, Fact] = {}

    def say(rule: str, code: str = "artifact_format_invalid", **words: Any) -> None:
        found.append(RULES.finding(f"{code}/{rule}", file, **words))

    if file.size > SIZE_LIMIT_BYTES:
        say("image-not-fully-checked", problem=f"{file.size >> 20} MiB")
        return Examined(format=name, findings=tuple(found))
    with file.open() as stream:
        data = stream.read()
    if is_mangled(data):
        say("image-damaged", where="", problem="its bytes were written as text")
        return Examined(format=name, findings=tuple(found))
    for rule, words in walk(data) if walk is not None else ():
        say(rule, **words)
    if not any(finding.severity == "error" for finding in found):
        is_open = any(finding.rule == "image-end-missing" for finding in found)
        image = _decode(data + end if is_open else data, name, say, facts)
        if image is not None and depth >= Depth.CONTENT:
            for finding in _content(file, image, expected, facts):
                found.append(finding)
    return Examined(format=name, facts=facts, findings=tuple(found))


def _decode(data: bytes, name: str, say: Callable[..., None], facts: dict[str, Fact]) -> Any:
    """Decode every frame to its last row; return the first frame, None if that was not done."""
    from PIL import Image, ImageFile

    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data), formats=[name.upper()])
            width, height = image.size
            facts |= {"width": width, "height": height, "frames": getattr(image, "n_frames", 1)}
            if width * height > PIXELS_LIMIT:
                say("image-too-large", width=str(width), height=str(height))
                return None
            if width * height > PIXELS_DECODED:
                say("image-not-fully-checked", problem=f"{width} × {height} pixels")
                return None
            frames = min(int(facts["frames"]), FRAMES_LIMIT)
            for number in range(frames):
                image.seek(number)
                image.load()
            if frames < int(facts["frames"]):
                say("image-not-fully-checked", problem=f"{facts['frames']} frames")
            image.seek(0)
            return image
    except Image.DecompressionBombError:
        say("image-too-large", width="too many", height="too many")
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - decoders raise all kinds of errors
        say("image-damaged", where="", problem=str(error)[:160] or type(error).__name__)
    return None


def _content(file: ArtifactFile, image: Any, expected: Expected, facts: dict[str, Fact]) -> Iterator[Finding]:
    def finding(rule: str, **words: Any) -> Finding:
        return RULES.finding(f"artifact_placeholder_output/{rule}", file, **words)

    width, height = image.size
    if width == height == 1:
        yield finding("image-pixel", width="1", height="1")
        return
    if int(facts["frames"]) > 1:
        return
    if "A" in image.getbands() and image.getchannel("A").getextrema()[1] == 0:
        yield finding("image-transparent")
        return
    extrema = (
        image.convert("RGBA" if image.mode in ("P", "PA") else "RGB").getextrema()[:3]
        if image.mode in ("P", "PA", "CMYK")
        else image.getextrema()
    )
    bands = extrema if isinstance(extrema[0], tuple) else (extrema,)
    if all(low == high for low, high in bands):
        yield finding("image-one-colour")
