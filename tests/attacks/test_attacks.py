"""Every attack, in one run per contract beside packages that are good: what each of them gets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.catalogue import Attack, attacks
from tests.attacks.scene import Run, findings_of, open_scene, run
from tests.conftest import HARNESSES
from tests.living import open_living
from verify_ext.config import default_cache

ATTACKS = attacks()


@pytest.fixture(scope="module", params=sorted(HARNESSES))
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One whole run over all attacks and their victims, in a real harness of each contract."""
    harness = HARNESSES[request.param]
    with open_living(harness, tmp_path_factory.mktemp("prepare")):
        pass  # the environment is there from now on: the run itself asks no index
    folder: Path = tmp_path_factory.mktemp("attacks")
    with open_scene(folder) as scene:
        yield run(scene, ATTACKS, harness, default_cache().resolve())


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.theme}-{attack.name}")
def test_an_attack_gets_what_it_deserves_and_gains_nothing(attack: Attack, done: Run) -> None:
    names = [name for name, each in done.made.items() if each == attack]
    assert names
    for name in names:
        assert findings_of(done, name) == attack.findings


def test_nothing_is_damaged_and_every_victim_passes(done: Run) -> None:
    assert done.damage == ()


def test_there_are_attacks_of_every_kind() -> None:
    assert len(ATTACKS) >= 40
    assert len({(attack.theme, attack.name) for attack in ATTACKS}) == len(ATTACKS)
    assert all(attack.aim for attack in ATTACKS)
