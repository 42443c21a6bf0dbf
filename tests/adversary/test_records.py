"""One byte of a stored file altered: an error that names it, a state that is not counted, or what was read before."""

import shutil
from pathlib import Path

import pytest
from hypothesis import strategies as st

from compendium import paths, records, seals, states, store
from compendium.catalogue import experiment
from compendium.data import registry
from compendium.ledger import table as ledger
from compendium.protocol import replay
from evenspan.core.errors import FairError, ResultError


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    """Where the results of one run of the toy experiment are kept from one test to the next."""
    return tmp_path_factory.mktemp("stored") / "data"


@pytest.fixture
def checkout(toy_checkout, stored) -> Path:
    """A checkout with results, a small registry, the ledger and the seals."""
    if stored.is_dir():
        shutil.copytree(stored, toy_checkout / "data", dirs_exist_ok=True)
        return toy_checkout
    real = (Path(__file__).parents[2] / "data" / "registry.toml").read_text()
    entry = "[adult]" + real.partition("[adult]")[2].partition("\n[")[0] + "\n"
    (toy_checkout / "data" / "registry.toml").write_text(
        f'{registry.SEAL} = "{records.digest(entry.encode())}"\n{entry}'
    )
    entry = experiment("toy-table")
    for name in entry.executions:
        assert not replay(entry, entry.execution(name), jobs=2).failed
    ledger.write(ledger.ledger())
    seals.write()
    shutil.copytree(toy_checkout / "data", stored)
    return toy_checkout


def rows() -> object:
    """The stored rows with the state of their units; what is damaged or changed is an error here, as it is named."""
    found = states.inspect("toy-table")
    if lost := [f"{one.name} is {one.state}: {one.reason}" for one in found if not one.counts]:
        raise ResultError(f"not counted, and said wherever it is asked for: {'; '.join(lost)}")
    kept = {
        name: [one[field] for field in ("data", "versions", "sha256", "rows", "code", "packages")]
        for name, one in store.read_records("toy-table").items()
    }
    numbers = store.read_results("toy-table").astype(object).fillna("")
    used = numbers.loc[:, (numbers != "").any(axis=0)]  # a column of nothing may have another name
    return used.to_csv(), kept, {one.name: one.state for one in found}


def registered() -> object:
    return dict(registry.read.__wrapped__(paths.data("registry.toml")))


SUBJECTS = {
    "rows of a result": ("data/results/full/toy-table/toy-k2.csv", rows),
    "record of a result": ("data/results/full/toy-table/toy-k2.json", rows),
    "registry of data": ("data/registry.toml", registered),
    "list of seals": ("data/checksums.txt", seals.check),
    # Another valid word or number there is an edit, as in a notebook: git tells. No stored number may change with it.
    "experiments.yml": ("experiments.yml", rows),
}


def alterations(path: Path):
    """A place and how the byte there is changed into one of all others; now and then it stays."""
    return st.tuples(st.integers(0, path.stat().st_size - 1), st.sampled_from([0] * 16 + list(range(1, 256))))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_an_altered_byte_is_named_or_changes_nothing(attack, checkout, subject):
    name, read = SUBJECTS[subject]
    path = checkout / name
    content, before = path.read_bytes(), read()

    def body(case):
        place, by = case
        altered = bytearray(content)
        altered[place] ^= by
        path.write_bytes(altered)
        try:
            assert read() == before
            if by and name.startswith("data/") and name != "data/checksums.txt":
                # Who compares the files with their seals is told of every byte, also of those that no number rests on.
                with pytest.raises(ResultError, match=name):
                    seals.check()
        finally:
            path.write_bytes(content)

    attack(subject, "file", alterations(path), body)


@pytest.mark.exhaustive
@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_byte(checkout, subject):
    """Each in turn becomes another digit or letter, which no format can notice."""
    name, read = SUBJECTS[subject]
    path = checkout / name
    content, before, named = path.read_bytes(), read(), []
    for place in range(len(content)):
        altered = bytearray(content)
        altered[place] = altered[place] + 1 if altered[place] not in b"9zZ~\x7f" else altered[place] - 1
        path.write_bytes(altered)
        try:
            assert read() == before, place
        except FairError as error:
            named.append(str(error))
    path.write_bytes(content)
    assert read() == before
    assert all(len(text.split()) > 5 for text in named)


def test_an_altered_ledger_is_named(checkout):
    path, frame = ledger.path(), ledger.ledger()
    content = path.read_bytes()
    for place in range(0, len(content), 31):
        altered = bytearray(content)
        altered[place] ^= 1
        path.write_bytes(altered)
        with pytest.raises(ResultError, match="differs"):
            ledger.check(frame)
    path.write_bytes(content)
    ledger.check(frame)
