"""The instrument itself: each kind of ending is counted as what it is."""

import json

import pytest
from hypothesis import strategies as st

from evenspan.core.errors import DataError


def _counts(attack, body) -> None:
    attack("toy", "instrument", st.integers(0, 10**9), body, draws=(60, 60))


@pytest.fixture(autouse=True)
def kept(request, monkeypatch, tmp_path):
    """What these toys count is not that of a subject."""
    monkeypatch.setattr(request.config.option, "outcomes", str(tmp_path))


def test_right_and_named_are_told_apart(attack, tmp_path):
    def body(number):
        if number % 2:
            raise DataError("an odd number was seen; needed is an even one. Give twice of it.")

    _counts(attack, body)
    found = json.loads((tmp_path / "instrument-toy.json").read_text())
    assert found["tried"] == found["right"] + found["named"]["DataError"] == 60
    assert min(found["right"], found["named"]["DataError"]) > 10
    assert found["neither"] == 0


@pytest.mark.parametrize(
    ("raised", "what"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError"),
        (DataError("bad"), "says no more than bad"),
        (AssertionError("the theorem"), "the theorem"),
        (RuntimeWarning("overflow"), "overflow"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_neither_is_shown_with_its_draw(attack, raised, what):
    def body(number):
        if number % 3 == 0:
            raise raised

    with pytest.raises(AssertionError, match=what):
        _counts(attack, body)


def test_refusing_everything_is_not_enough(attack):
    def body(_):
        raise DataError("everything was refused; needed is an answer. Give some.")

    with pytest.raises(AssertionError, match="no draw of toy was answered"):
        _counts(attack, body)
