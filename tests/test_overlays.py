"""What extensions require: installed beside the harness, or refused with the right fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.package_index import PackageIndex, expect, harness, wheel
from verify_ext.config import default_cache
from verify_ext.harness.choice import Chosen
from verify_ext.harness.environments import Environment, adopt_environment, ensure_environment
from verify_ext.harness.overlays import ensure_overlay, find_overlay, plain_lines
from verify_ext.model import Fault, Location
from verify_ext.source import Spot

PLACE = Spot(Location(path="deck_maker/requirements.txt", line=3))


def environment_of(version: str, cache: Path) -> Environment:
    chosen = Chosen(version=version, origin="flag", location=PLACE.location)
    return ensure_environment(chosen, cache, print)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PackageIndex]:
    """An index with a small harness that needs `shared`, and `capped` below 2."""
    started = f"import pathlib; pathlib.Path({str(tmp_path / 'started')!r}).touch()\n"
    files = (
        harness("0.1.17", "shared", "capped<2"),
        harness("0.1.18"),
        wheel("shared", "1.0", files={"shared.py": "version = '1.0'\n", "shared.pth": started}),
        wheel("shared", "2.0"),
        wheel("capped", "1.0"),
        wheel("capped", "2.0"),
        wheel("extra", "1.0", requires=("shared",), files={"extra.py": "", "extra.pth": started}),
        wheel("incomplete", "1.0", requires=("missing",)),
        wheel("picky", "1.0", tag="cp311"),
        wheel("modern", "1.0", tag="cp313"),
        {"lazy-1.0.tar.gz": b"never opened"},
    )
    with PackageIndex(*files) as index:
        index.use(monkeypatch, tmp_path)
        yield index


@pytest.fixture
def environment(index: PackageIndex, tmp_path: Path) -> Environment:
    return environment_of("0.1.17", tmp_path / "cache")


def test_what_the_harness_has_is_not_installed_again(
    environment: Environment, index: PackageIndex, tmp_path: Path
) -> None:
    overlay = ensure_overlay(environment, ["shared", "capped>=1"], tmp_path / "cache", print, PLACE)
    assert (overlay.environment, overlay.folder, overlay.packages) == (environment, None, ())
    asked = len(index.asked)
    assert find_overlay(environment, ["capped>=1", "shared"], tmp_path / "cache", PLACE) == overlay
    assert find_overlay(environment, [], tmp_path / "nowhere", PLACE).folder is None
    assert len(index.asked) == asked


def test_only_what_is_missing_lies_beside_the_harness(
    environment: Environment, index: PackageIndex, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    overlay = ensure_overlay(environment, ["extra"], cache, print, PLACE)
    assert overlay.environment == environment
    assert overlay.packages == ("extra==1.0",)
    assert overlay.folder
    assert {path.suffix for path in overlay.folder.iterdir()} == {".py", ".pth", ".dist-info"}
    asked = len(index.asked)
    assert find_overlay(environment, ["extra"], cache, PLACE) == overlay
    assert ensure_overlay(environment, ["extra"], cache, print, PLACE) == overlay
    assert len(index.asked) == asked
    (overlay.folder / "extra.py").write_text("changed = True\n")
    with expect("environment_error/damaged"):
        find_overlay(environment, ["extra"], cache, PLACE)
    assert ensure_overlay(environment, ["extra"], cache, print, PLACE) == overlay
    assert (overlay.folder / "extra.py").read_text() == ""


def test_a_conflict_with_our_pins_alone_gets_another_environment(
    environment: Environment, index: PackageIndex, tmp_path: Path
) -> None:
    cache, needs = tmp_path / "cache", ["shared<2", "extra"]
    index.files |= wheel("capped", "1.5")
    overlay = ensure_overlay(environment, needs, cache, print, PLACE)
    other = overlay.environment
    assert other.requirement == environment.requirement
    assert other.fingerprint != environment.fingerprint
    assert (other.sites[0] / "shared.py").read_text() == "version = '1.0'\n"
    assert (other.sites[0] / "capped.py").read_text() == "version = '1.0'\n"  # no more than must change
    assert not (other.sites[0] / "extra.py").exists()
    assert overlay.packages == ("extra==1.0",)
    asked = len(index.asked)
    assert find_overlay(environment, needs, cache, PLACE) == overlay
    assert len(index.asked) == asked
    # Both `.pth` files would tell: no interpreter was started from what was installed here.
    assert not (tmp_path / "started").exists()


REFUSALS = {
    ("no-such",): "dependency_missing/not-found",
    ("extra==9",): "dependency_missing/not-found",
    ("extra", "incomplete"): "dependency_missing/not-found",
    ("extra", "lazy"): "dependency_missing/no-wheel",
    ("capped>=2",): "dependency_conflict/with-harness",
    ("extra", "openjiuwen==0.1.18"): "dependency_conflict/with-harness",
    ("extra<1", "shared"): "dependency_missing/not-found",
    ("shared==1.0", "shared==2.0"): "dependency_conflict/with-itself",
}


@pytest.mark.parametrize("needs", sorted(REFUSALS), ids="+".join)
def test_requirements_that_cannot_be_met_are_the_extensions_fault(
    needs: tuple[str, ...], environment: Environment, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    with expect(REFUSALS[needs]) as caught:
        ensure_overlay(environment, needs, cache, print, PLACE)
    finding = caught.value.finding
    assert finding.fault is Fault.EXTENSION
    assert finding.location == PLACE.location
    assert (finding.actual or "").startswith("Because ")
    assert "No solution found" in (finding.log or "")
    with expect(REFUSALS[needs]) as again:
        find_overlay(environment, needs, cache, PLACE)
    assert again.value.finding == finding


def test_a_conflict_says_what_the_harness_needs(environment: Environment, tmp_path: Path) -> None:
    with expect("dependency_conflict/with-harness") as caught:
        ensure_overlay(environment, ["capped>=2"], tmp_path / "cache", print, PLACE)
    assert caught.value.finding.expected == "openjiuwen==0.1.17 requires capped<2"
    with expect("dependency_conflict/with-harness") as caught:
        ensure_overlay(environment, ["openjiuwen>0.1.17"], tmp_path / "cache", print, PLACE)
    assert caught.value.finding.expected == "openjiuwen==0.1.17"


def test_a_refusal_does_not_outlive_its_reason(
    environment: Environment, index: PackageIndex, tmp_path: Path
) -> None:
    with expect("dependency_missing/not-found"):
        ensure_overlay(environment, ["late"], tmp_path / "cache", print, PLACE)
    index.files |= wheel("late", "1.0")
    assert ensure_overlay(environment, ["late"], tmp_path / "cache", print, PLACE).folder


def test_another_python_is_not_the_extensions_fault(environment: Environment, tmp_path: Path) -> None:
    needs, other = ("picky", "3.11") if environment.interpreter.minor == "3.13" else ("modern", "3.13")
    with expect("environment_error/other-python") as caught:
        ensure_overlay(environment, [needs], tmp_path / "cache", print, PLACE)
    assert caught.value.finding.remedy == f"Run verify-ext with Python {other}."
    with expect("environment_error/other-python"):
        find_overlay(environment, [needs], tmp_path / "cache", PLACE)


@pytest.mark.parametrize("status", [200, 401, 404, 500])
def test_a_broken_index_is_not_the_extensions_fault(status: int, index: PackageIndex, tmp_path: Path) -> None:
    index.memory = "max-age=600"
    environment = environment_of("0.1.17", tmp_path / "cache")
    index.status = status
    index.files.clear()
    with expect("environment_error/index-unreachable"):
        ensure_overlay(environment, ["no-such"], tmp_path / "cache", print, PLACE)
    with expect("environment_error/not-prepared"):
        find_overlay(environment, ["no-such"], tmp_path / "cache", PLACE)


def test_an_unpublished_harness_proves_nothing_about_an_extension(
    environment: Environment, index: PackageIndex, tmp_path: Path
) -> None:
    adopted = adopt_environment(environment.python)
    del index.files["openjiuwen-0.1.17-py3-none-any.whl"]
    with expect("environment_error/index-unreachable") as caught:
        ensure_overlay(adopted, ["shared<2"], tmp_path / "cache", print, PLACE)
    assert caught.value.finding.expected == "an index that has openjiuwen==0.1.17"


def test_an_environment_of_somebody_else_is_not_replaced(environment: Environment, tmp_path: Path) -> None:
    adopted = adopt_environment(environment.python)
    assert ensure_overlay(adopted, ["extra"], tmp_path / "cache", print, PLACE).environment == adopted
    with expect("environment_error/frozen-environment"):
        ensure_overlay(adopted, ["shared<2"], tmp_path / "cache", print, PLACE)


def test_only_plain_requirement_lines_reach_the_installer() -> None:
    assert plain_lines(["b ; python_version > '3'", "a[x] >=1", "b; python_version>'3'"]) == (
        "a[x]>=1",
        'b; python_version > "3"',
    )
    for text in ("-e .", "--index-url http://x", "./a.whl", "a @ file:///a.whl", "a\n-e .", ""):
        with pytest.raises(ValueError, match=r".*"):
            plain_lines([text])


# --- The real harness and the real index -----------------------------------------------------

REAL = {
    "pydantic<2": "dependency_conflict/with-harness",
    "pymilvus==2.6.10": "dependency_conflict/with-harness",
    "filelock>=4": "dependency_conflict/with-harness",
    "docopt": "dependency_missing/no-wheel",
    "verify-ext-no-such-package": "dependency_missing/not-found",
}


@pytest.mark.parametrize("need", sorted(REAL))
def test_the_real_harness_refuses(need: str, tmp_path: Path) -> None:
    environment = environment_of("0.1.16", default_cache())
    with expect(REAL[need]):
        ensure_overlay(environment, [need], tmp_path / "cache", print, PLACE)


def test_the_real_harness_gives_way_where_only_our_pins_object(tmp_path: Path) -> None:
    environment = environment_of("0.1.16", default_cache())
    needs = ["requests==2.33.0", "six"]
    overlay = ensure_overlay(environment, needs, default_cache(), print, PLACE)
    assert [package.partition("==")[0] for package in overlay.packages] == ["six"]
    pins = {path.name for path in overlay.environment.sites[0].glob("*.dist-info")}
    assert "requests-2.33.0.dist-info" in pins
    assert "openjiuwen-0.1.16.dist-info" in pins
