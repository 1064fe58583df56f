"""Texts without what belongs to this machine."""

from pathlib import Path

from verify_ext.harness.portable import portable

PLACES = (
    (Path("/tmp/run/job-1/package"), ""),
    (Path("/tmp/run/job-1"), "<job>/"),
    (Path("/cache/env"), "<harness>/"),
)


def test_folders_become_words_and_addresses_go() -> None:
    seen = {
        "error": "open('/tmp/run/job-1/package/deck/a.py') from /cache/env/x.py in /tmp/run/job-1",
        "list": ["<Deck object at 0x7f2756d34250>", 7, None, True],
    }
    assert portable(seen, PLACES) == {
        "error": "open('deck/a.py') from <harness>/x.py in <job>",
        "list": ["<Deck object at 0x…>", 7, None, True],
    }


def test_short_numbers_stay() -> None:
    assert portable("exit 0x10", PLACES) == "exit 0x10"
