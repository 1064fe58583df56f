"""Real harness environments, prepared once and shared by all tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.living import Living, open_living

ROOT = Path(__file__).resolve().parent.parent
HARNESSES = {"labels": "openjiuwen==0.1.16", "records": "openjiuwen==0.1.19.post2"}


@pytest.fixture
def good_package(tmp_path: Path) -> Path:
    """A copy of the good example, in a folder of its own."""
    return shutil.copytree(ROOT / "examples/good/deck_maker", tmp_path / "repo" / "deck_maker")


@pytest.fixture(scope="session", params=sorted(HARNESSES))
def living(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    """A started harness of each contract, in which packages can be exercised."""
    with open_living(HARNESSES[request.param], tmp_path_factory.mktemp("living")) as living:
        yield living
