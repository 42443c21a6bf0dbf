"""Every command with drawn options: an error in plain words, or the work begins with values that make sense."""

import itertools
import os
from types import SimpleNamespace

import pytest
import typer
from hypothesis import strategies as st
from typer.testing import CliRunner

import compendium.data
from compendium import protocol, seals, states, verify
from compendium.catalogue import Experiment
from compendium.cli import MOST_JOBS, app
from compendium.keep import archive, changed_numbers, crate, pdf, versions
from compendium.ledger import state, table
from compendium.live import server
from evenspan.core.errors import TOLD, ConfigurationError

#: What is given as a value, whatever the option.
VALUES = (
    *("0", "-1", "-5", "1", "2", "7", "1e3", "1.5", "nan", "inf", "-inf", "5%", "0%", "500%", "0/5", "x", "", " ", "é"),
    *("9" * 400, "k=2", "k=ten", "scale=nan", "=", "toy-table", "toy-k2", "full", "embedded", "adult", "toy_k10/001"),
    *("../..", "/", "\x1b[31m", "--", "-p", "a\nb", "1024", "1025", "k2-pca", "100%", "0.5", "HEAD", "9" * 5000),
)
#: What fits an option, more or less: a draw that fits in nothing is refused for too little.
FITTING = {
    "--jobs": ("2", "-1", "0", "1024", "1025"),
    "--cores": ("2", "0", "1025"),
    "--part": ("3", "-1"),
    "--seconds": ("9", "0", "nan"),
    "--parameter": ("k=2", "scale=nan", "scale=2"),
    "--execution": ("toy-k2",),
    "--task": ("k2-pca",),
    "--profile": ("full",),
}
#: Words with which a command begins.
STARTS = {
    "run": (("toy-table",), ("toy-table", "--profile", "full")),
    "verify": ((), ("--all",), ("--part", "3", "--seconds", "9"), ("--sample", "5"), ("--touched",)),
}
COMMANDS = (
    *("list", "run", "verify", "ledger", "build", "crate", "archive", "pdf", "site", "changes", "live"),
    *("data list", "data fetch", "data verify", "data card", "data moments"),
)


def options(command: str) -> list[str]:
    """The names of the options of a command, and None for an argument."""
    found = typer.main.get_command(app)
    for word in command.split():
        found = found.commands[word]
    names = [one.opts[0] for one in found.params if one.param_type_name == "option"]
    return names if command == "run" else [*names, None, None]


@pytest.fixture
def began(toy_checkout, monkeypatch) -> list:
    """What work began, with which values; none of it is done."""
    began = []

    def record(name, gives=None):
        def begin(*given, **named):
            began.append((name, given, named))
            if isinstance(gives, BaseException):
                raise gives
            return gives

        return begin

    ends = SystemExit(0)
    behind = {f"toy_k10/{number:03d}": (("toy-table", f"k10-{number}"),) for number in range(1, 41)}
    took = lambda chosen: dict.fromkeys(chosen, 1.0)  # noqa: E731
    for module, name, made in (
        (protocol, "replay", record("replay", protocol.Replay(known=["k2-pca"]))),
        (verify, "verify", record("verify", [])),
        (verify, "numbers", lambda: behind),
        (verify, "_seconds", took),
        (verify, "inspect", lambda name: [states.Stored("k2-pca", states.TOUCHED)]),
        (verify, "units_of", lambda name: {"k2-pca": SimpleNamespace(rows=[{"method": "PCA"}])}),
        (seals, "check", record("seals", 7)),
        (table, "ledger", record("ledger", ends)),
        (state, "summary", record("summary", [])),
        (crate, "write", record("crate", ends)),
        (archive, "write", record("archive", ends)),
        (archive, "verify", record("archive --verify", ends)),
        (pdf, "write", record("pdf", ends)),
        (versions, "add", record("site", ends)),
        (server, "serve", record("live", ends)),
        (changed_numbers, "changed", record("changes", [])),
        (os, "execv", record("build", ends)),
        (os, "execve", record("moments", ends)),
    ):
        monkeypatch.setattr(module, name, made)
    for name in ("status", "fetch", "verify", "card", "make_moments"):
        monkeypatch.setattr(compendium.data, name, record(f"data {name}", ()))
    monkeypatch.setattr("compendium.cli._run_notebook", record("notebook"))
    return began


def check(work: str, given: tuple, named: dict) -> None:
    """That a piece of work begins with values that make sense."""
    jobs = named.get("jobs")
    assert jobs is None or 1 <= jobs <= MOST_JOBS
    if work in ("replay", "notebook"):
        entry, setting = given[:2]
        assert isinstance(entry, Experiment)
        entry.complete({name: value for name, value in setting.items() if name != "profile"})
    if work == "verify":
        [chosen] = given
        assert 1 <= len(chosen) <= 40
    if work == "build":
        assert all(1 <= int(word[5:]) <= MOST_JOBS for word in given[1] if word.startswith("JOBS="))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_refused_in_plain_words_or_its_work_begins(attack, began, command):
    names = options(command)
    option = st.sampled_from(names + 4 * [name for name in names if name in FITTING])
    pair = option.flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(VALUES + 20 * FITTING.get(name, ()))))
    case = st.tuples(st.sampled_from(STARTS.get(command, ((),))), st.lists(pair, max_size=3))
    flags = {"--files", "--all", "--touched", "--confirm", "--summary", "--check", "--allow-dirty", "--replace",
             "--any-address"}  # fmt: skip

    def body(drawn):
        start, drawn = drawn
        words = [(value,) if name is None else (name,) if name in flags else (name, value) for name, value in drawn]
        began.clear()
        ended = CliRunner().invoke(
            app, [*command.split(), *start, *itertools.chain(*words)], prog_name="python -m compendium"
        )
        assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
        assert "Traceback" not in ended.output
        for one in began:
            check(*one)
        if ended.exit_code == TOLD:
            raise ConfigurationError(f"{ended.stderr} (seen, needed, and what to do: at least as many words)")
        assert ended.exit_code == 0, ended.output

    attack(command, "command", case, body, draws=(200, 1_000))


def test_every_command_is_tried():
    group = typer.main.get_command(app)
    assert {*COMMANDS} == {*group.commands} - {"data"} | {f"data {name}" for name in group.commands["data"].commands}
