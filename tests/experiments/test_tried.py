"""What was tried: a right candidate explains every open number, and the same search on shuffled print does not."""

from types import SimpleNamespace

import pandas as pd
import pytest

from compendium.ledger import tried as tried_module
from compendium.ledger.tried import tried

PRINTED = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}
ENTRY = SimpleNamespace(
    id="table",
    published_datasets={name: (name.upper(),) for name in PRINTED},
    procedures=[SimpleNamespace(method="ours", described="as meant")],
)


def rows(protocol, values, method="ours"):
    key = {"method": method, "metric": "x", "k": 3, "split": "all", "protocol": protocol}
    return [key | {"dataset": name, "value": value} for name, value in values.items()]


@pytest.fixture
def found(monkeypatch):
    cells = pd.DataFrame({"dataset": [name.upper() for name in PRINTED], "published": map(str, PRINTED.values())})
    cells = cells.assign(
        experiment="table", metric="x", method="ours", k="3", split="out-of-sample", printed_digits="1"
    )
    cells["result"] = ["not reproduced"] * 4 + ["as described"]
    monkeypatch.setattr(tried_module, "ledger", lambda: cells)
    some = rows("out-of-sample, tried: right", PRINTED)
    some += rows("out-of-sample, tried: off", {name: value + 0.2 for name, value in PRINTED.items()})
    some += rows("in-sample, tried: elsewhere", PRINTED)  # of a sample that is not printed
    some += rows("out-of-sample, folds 00", PRINTED | {"a": 9.0, "b": 9.0})
    some += rows("out-of-sample, folds 01", PRINTED | {"c": 9.0})
    some += rows("out-of-sample, tried: right", {name: -value for name, value in PRINTED.items()}, "as meant")
    some += rows("out-of-sample, tried: off", dict.fromkeys(PRINTED, 2.0), "as meant")

    def of(described=False):
        table = tried(pd.DataFrame(some).astype({"k": "Int64"}), ENTRY, "x", "method", described=described)
        return table.set_index("candidate")

    return of


def test_a_right_candidate_explains_all_and_shuffled_print_one_number_on_average(found):
    table = found()
    counted = ["draws", "explained", "to the last digit", "of", "of all"]
    assert table.loc["right", counted].tolist() == [1, 4, 4, 4, "5 of 5"]
    assert table.loc["right", "control"] == pytest.approx(1.0, abs=0.15)  # fixed points of a permutation
    assert table.loc["right", "best column"] == 1.0
    assert table.loc["off", ["explained", "control"]].tolist() == [0, 0]
    assert "elsewhere" not in table.index


def test_of_draws_the_best_counts_for_print_and_for_the_control(found):
    table = found()
    assert table.loc["folds", ["draws", "explained"]].tolist() == [2, 3]
    one = found().loc["mean of folds", "explained"]
    assert one == 1, "only d has the same value in both"
    assert 3 * 4 / 16 < table.loc["folds", "control"] < 2


def test_rows_as_described_take_the_place_of_those_of_the_printed_name(found):
    table = found(described=True)
    assert table.loc["right", "explained"] == 4  # sizes: a sign is no difference
    assert table.loc["off", ["explained", "control"]].tolist() == [1, 1]
    assert "folds" not in table.index
