"""docs/attacks.md names the attacks that exist, and what was recorded in every place held."""

from __future__ import annotations

import json
import re

import pytest

from tests.attacks.catalogue import attacks
from tests.attacks.table import PLACES, RECORDED, document
from tests.conftest import HARNESSES, ROOT

DOCUMENT = ROOT / "docs/attacks.md"


def test_the_document_is_what_the_attacks_and_the_records_say() -> None:
    """Red? `python -m tests.attacks.table --write docs/attacks.md` writes it again."""
    assert DOCUMENT.read_text("utf-8") == document()


def test_every_attack_that_it_names_exists() -> None:
    named = re.findall(r"^\| `([a-z0-9-]+)` \|", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    assert named == [each.name for each in attacks()]


@pytest.mark.parametrize("place", PLACES)
def test_a_recorded_place_held(place: str) -> None:
    """Red? Record the place again (record.py, record-in-docker)."""
    recorded = json.loads((RECORDED / f"{place}.json").read_text("utf-8"))
    assert sorted(recorded) == sorted(HARNESSES)
    for contract in recorded.values():
        for each in attacks():  # one that is newer than the record is shown as such in the table
            found = contract["found"].get(each.name, list(each.findings))
            assert bool(found) is bool(each.findings), each.name
        assert contract["damage"] == []
        assert contract["protections"]["seccomp"] is True
