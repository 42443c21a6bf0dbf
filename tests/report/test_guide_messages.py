"""A page that shows a message fails when the message is no longer given."""

import warnings

import pytest

from compendium.book.guide_messages import told
from evenspan.core.errors import ExecutionError, GroupError


def test_an_error_is_printed_with_its_class(capsys):
    with told(GroupError):
        raise GroupError("one group only")
    assert capsys.readouterr().out == "GroupError: one group only\n"


def test_a_warning_is_printed_once(capsys):
    with told(UserWarning):
        for _ in range(3):
            warnings.warn("look out", UserWarning, stacklevel=1)
    assert capsys.readouterr().out == "UserWarning: look out\n"


def test_long_messages_are_wrapped(capsys):
    with told(ValueError, width=30):
        raise ValueError("so many words that no narrow screen holds them in one line")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 30
    assert " ".join(line.strip() for line in lines).endswith("hold them in one line".replace("hold", "holds"))


def test_silence_is_an_error_of_the_page():
    with pytest.raises(ExecutionError, match="GroupError, and did not"), told(GroupError):
        pass
    with pytest.raises(ExecutionError, match="UserWarning, and did not"), told(UserWarning):
        pass
    with pytest.raises(ExecutionError, match="did not"), told():
        pass


def test_anything_else_comes_through():
    with pytest.raises(KeyError), told(GroupError):
        raise KeyError("other")
    with pytest.raises(ExecutionError, match="something else: RuntimeWarning: odd"), told(UserWarning):
        warnings.warn("odd", RuntimeWarning, stacklevel=1)
    with pytest.raises(ExecutionError, match="something else"), told(GroupError):
        _warn_and_raise()


def _warn_and_raise():
    warnings.warn("odd", RuntimeWarning, stacklevel=1)
    raise GroupError("x")
