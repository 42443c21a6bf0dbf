"""The ledger: the published numbers, their join with results, the page, and the claims."""

import importlib
import json
import re
import shutil

import pandas as pd
import pytest

from compendium import paths
from compendium.catalogue import experiment
from compendium.claim_rules import rule_file
from compendium.ledger import claims, evaluation, page
from compendium.ledger import state as ledger_state
from compendium.ledger import table as ledger
from compendium.ledger.verdicts import Kind
from compendium.records import whole
from evenspan.core.errors import ResultError


@pytest.fixture(scope="module")
def real():
    """The ledger of the committed results."""
    return ledger.ledger()


def test_every_published_number_has_exactly_one_row_and_verdict(real):
    cells, counts = ledger.published(), ledger.counts(real)
    assert ((cells["std"] != "").sum(), (cells["value"] == "").sum()) == (86, 0)
    assert list(real.columns) == list(ledger.COLUMNS)
    assert real["cell"].tolist() == sorted({*cells["cell"]})
    assert set(real["verdict"]) <= {kind.value for kind in Kind}
    assert counts["printed"].to_dict() == {
        "kleindessner2023": 86, "rathore2025": 664, "vu2022": 318, "zhou2024": 192, "all": 1260,
    }  # fmt: skip
    assert counts["tested"].tolist() == [86, 317, 308, 64, 775]
    parts = counts[["as described", "other procedure", "not reproduced"]]
    assert (parts.sum(axis=1) == counts["tested"]).all()
    assert ledger.path().read_bytes() == ledger.to_csv(real), "the committed ledger is what the results give"


def test_interchanged_methods_lower_the_counts_of_every_paper(real, monkeypatch):
    """Each method's results under the next one's name: what discriminates must notice."""
    read, names = ledger.read_results, ledger.published().groupby("paper")["method"].unique()

    def interchanged(name, *which, **how):
        rows, cycle = read(name, *which, **how), list(names[experiment(name).paper])
        return rows.assign(method=rows["method"].replace(dict(zip(cycle, [*cycle[1:], cycle[0]], strict=True))))

    monkeypatch.setattr(ledger, "read_results", interchanged)
    some = (real["result"] != "not a test") & (real["method"] != "")
    both = {"ours": real, "wrong": ledger.ledger()}
    agree = pd.DataFrame({name: of["verdict"].isin(["exact", "close"]) for name, of in both.items()})
    agree = agree[some].groupby(real["paper"]).sum()
    assert len(agree) == 4
    assert (agree["wrong"] < agree["ours"] * 2 / 3).all(), agree


@pytest.fixture
def judged(finished):
    return ledger.ledger().set_index(["method", "metric"])


def test_results_are_joined_and_judged(judged):
    assert judged["verdict"].to_dict() == {
        ("PCA", "%Var"): "exact",  # 20 printed in a column with one decimal
        ("Fair PCA", "%Var"): "close",
        ("Fair PCA-S (0.5)", "%Var"): "same ordering only",
        ("INLP", "%Var"): "not yet run",
        ("PCA", "MMD^2"): "differs",
        ("Fair PCA-S (0.5)", "MMD^2"): "unavailable",
    }
    assert judged.loc[("Fair PCA-S (0.5)", "MMD^2"), "reason"] == "no kernel width, said the test"
    assert judged.loc[("INLP", "%Var"), "experiment"] == ""
    counts = ledger.counts(judged.reset_index())
    assert counts.loc["all"].tolist()[:-1] == [6, 3, 3, 2, 0, 1]
    assert ledger_state.sentence(counts).startswith("Of 3 numbers that can tell methods apart, 67 % are")
    row = judged.loc[("PCA", "MMD^2")]  # the mean over the splits of the published protocol
    rows = whole(importlib.import_module("toy_project.protocol").judged(10, "PCA"))
    values = rows.loc[(rows["protocol"] == "released") & (rows["metric"] == "MMD^2"), "value"]
    off = values.mean() - 77.777
    expected = [values.mean(), values.std(ddof=0), 3, off * 1000, off / 0.006]
    got = row[["ours", "ours_std", "splits", "deviation_digits", "deviation_sd"]].astype(float)
    assert got.tolist() == pytest.approx(expected, rel=1e-3)
    trail = row[["experiment", "execution", "tasks", "data_card"]].tolist()
    assert trail == ["toy-table", "toy-k10", "k10-pca", "toy"]


def test_two_rows_or_two_numbers_for_one_cell_and_words_are_refused(toy_checkout, finished, monkeypatch):
    path = toy_checkout / "data" / "paper" / "toy_k10.csv"
    original = path.read_text()
    path.write_text(original + original.splitlines()[1] + "\n")
    with pytest.raises(ResultError, match=r"two rows for .*'method': 'PCA'"):
        ledger.published()
    path.write_text(original)
    rows = ledger.read_results("toy-table")
    again = rows[rows["task"] == "k10-pca"].assign(task="k10-old")
    monkeypatch.setattr(ledger, "read_results", lambda _: pd.concat([rows, again], ignore_index=True))
    with pytest.raises(ResultError, match=r"two numbers for one split of toy_k10, Toy Income, PCA, .*k10-old, k10-pca"):
        ledger.ledger()
    monkeypatch.undo()
    path.write_text(original.replace("77.777", "77,777").replace(",77,777,", ',"77,777",'))
    with pytest.raises(ResultError, match=r"toy_k10.csv .*'77,777'"):
        ledger.ledger()


def test_the_page_shows_every_number_and_claim(real, monkeypatch):
    monkeypatch.setattr(claims, "registered", dict)  # their answers take a minute
    text = page.page(real, ledger.counts(real))
    rows = re.findall(r'<(?:tr|span) id="([^"]+)"', text)
    assert len(set(rows)) == len(rows) == 1260 + 91
    table = ledger.to_csv(real).decode()
    held = json.loads(page.rows_script(table).removeprefix("window.evenspanLedger = ").removesuffix(";\n"))
    assert held["head"] + "".join(held["rows"].values()) == table


@pytest.fixture
def declared(toy_checkout):
    """Add fields to the toy's entry of the list of experiments."""

    def add(fields: str) -> None:
        path = toy_checkout / "experiments.yml"
        path.write_text(path.read_text().replace("  choices:", f"{fields}\n  choices:"))

    return add


def test_what_every_method_gives_is_no_test(toy_checkout, finished):
    """The chance agreement is 1 where every method passes, else the share; a number alone in its table has none."""
    path = toy_checkout / "data" / "paper" / "toy_k10.csv"
    path.write_text(path.read_text().replace("(0.5),%Var,10,,14,", "(0.5),%Var,10,,30,"))
    rules = toy_checkout / "data" / "tolerances.yml"
    rules.write_text(rules.read_text().replace("relative: 0.02", "relative: 0.345"))
    frame = ledger.ledger().set_index(["method", "metric"])[["verdict", "result", "no_test", "chance"]]
    assert frame.loc[("PCA", "%Var")].tolist() == ["exact", "as described", "", "0.5"]
    assert frame.loc[("Fair PCA", "%Var")].tolist() == ["close", "not a test", "every method gives it", "1"]
    assert frame.loc[("PCA", "MMD^2")].tolist() == ["differs", "not a test", "nothing to compare with", ""]
    assert frame.loc[("INLP", "%Var")].tolist() == ["not yet run", "not a test", "unavailable", ""]
    assert ledger.counts(ledger.ledger()).loc["all"].tolist() == [6, 4, 2, 1, 0, 1, 0.5]


def test_what_is_declared_decides(toy_checkout, finished, declared):
    """Numbers that are no test, and procedures: our PCA gives 20.0, printed here for Fair PCA-S and Fair PCA."""
    path = toy_checkout / "data" / "paper" / "toy_k10.csv"
    path.write_text(
        path.read_text().replace("(0.5),%Var,10,,14,0.1", "(0.5),%Var,10,,20.0,").replace(",15.2,", ",20.0,")
    )
    declared(
        "  not_a_test:\n    - {because: used to set up the data, method: PCA, metric: '%Var', reason: it chose}\n"
        "    - {because: timing, metric: MMD^2, reason: not ours}\n"
        "  procedures:\n    - {name: plain PCA, method: Fair PCA-S (0.5), rows: PCA}\n"
        "    - {name: none, method: Fair PCA, rows: Fair PCA, described: PCA}"
    )
    found = ledger.ledger().set_index(["method", "metric"])
    no_test = found["no_test"]
    assert no_test["PCA", "%Var"] == "used to set up the data"
    assert (no_test["PCA", "MMD^2"], no_test["Fair PCA-S (0.5)", "MMD^2"]) == ("timing", "unavailable")
    rows = found[["result", "procedure", "described", "by_procedure"]]
    assert rows.loc[("Fair PCA-S (0.5)", "%Var")].tolist() == ["other procedure", "plain PCA", "no", "yes"]
    assert rows.loc[("Fair PCA", "%Var")].tolist() == ["as described", "none", "yes", "no"]


def test_an_evaluation_that_draws_has_an_error_and_changes_no_word(toy_checkout, finished, declared, monkeypatch):
    """Three draws of two splits; Fair PCA, of which 15.2 is printed, is within its errors, PCA is beyond its own."""
    before = ledger.ledger().set_index(["method", "metric"])
    declared("  evaluation: toy-draws")
    centre = {"PCA": 30.0, "Fair PCA": 15.0, "Fair PCA-S (0.5)": 14.9}
    drawn = [
        {"dataset": "toy", "method": name, "metric": "%Var", "k": 10, "protocol": f"folds {i:02d}", "split": split}
        | {"value": mean + 0.2 * (i - 1) + (split - 0.5)}
        for name, mean in centre.items()
        for i in range(3)
        for split in range(2)
    ]
    other = [row | {"protocol": "seed 01", "value": 0.0} for row in drawn]  # of another fit: no draw of the evaluation
    rows = pd.DataFrame([*drawn, *other]).astype({"k": "Int64"})
    found = evaluation.of_draws(rows).set_index("method")
    assert found["draws"].tolist() == [3, 3, 3]
    assert found.loc["PCA", "error"] == pytest.approx(0.2 * (4 / 3) ** 0.5)  # n - 1 in the divisor
    assert found["mean"].to_dict() == pytest.approx(centre)
    monkeypatch.setattr(evaluation, "read_results", lambda _: rows)
    after = ledger.ledger().set_index(["method", "metric"])
    same = ["verdict", "result", "chance", "distance"]
    assert (after[same] == before[same]).all(axis=None)
    columns = ["within_evaluation", "described_within", "chance_evaluation"]
    assert after.loc[("Fair PCA", "%Var"), columns].tolist() == ["yes", "yes", "0.5"]
    assert after.loc[("PCA", "%Var"), columns].tolist() == ["no", "no", "0"]
    assert after.loc[("PCA", "MMD^2"), columns].tolist() == ["", "", ""]


@pytest.mark.parametrize(("printed", "near"), [("10.5", True), ("10.51", False), ("9.5", True), ("9.49", False)])
def test_two_errors_are_allowed(printed, near):
    assert evaluation.Evaluation(10.0, 0.25).near(printed, rule_file()) is near


def test_claims_are_open_until_an_experiment_answers(toy_checkout):
    frame = claims.claims().set_index("id")
    assert len(frame) == 91
    assert frame.loc["K01", ["described", "evidence", "experiment"]].tolist() == [
        "holds",
        "1 < 2, computed",
        "toy-table",
    ]
    assert frame.loc["K02", "described"] == "not judged"
    assert (frame["described"] == "not judged").sum() == 90
    importlib.import_module("toy_project.claims").CLAIMS["toy-table"]["K02"] = lambda rows: 1 / 0
    assert claims.claims(["K01"])["described"].tolist() == ["holds"], "the others are not computed"
    with pytest.raises(ZeroDivisionError):
        claims.claims(["K02"])


def test_beside_an_answer_stands_how_many_of_its_printed_numbers_agree(real):
    """Of R17 those of NPHA alone; of V24 both those as described and those of the released program."""
    tested, found = real[real["result"] != "not a test"], claims.claims(["R17", "V24"]).set_index("id")["agreement"]
    some = tested.query("dataset == 'NPHA' and method == 'JevdPCA' and metric in ('R.E.', 'V.E.')")
    assert f"JevdPCA {(some['described'] == 'yes').sum()} of {len(some)}" in found["R17"]
    some = tested.query("paper == 'vu2022' and method == 'FairPCA' and metric in ('ARE', 'ABDiff')")
    program, described = found["V24"].split("; ")
    for words, column in ((program, "by_procedure"), (described, "described")):
        assert f"FairPCA {(some[column] == 'yes').sum()} of {len(some)}" in words


def test_a_claim_or_a_cell_belongs_to_one_experiment(finished):
    path = paths.root() / "experiments.yml"
    path.write_text(path.read_text() + path.read_text().replace("toy-table:", "again:"))
    module = importlib.import_module("toy_project.claims")
    module.CLAIMS["again"] = module.CLAIMS["toy-table"]
    with pytest.raises(ResultError, match=r"again and another experiment answer the claim"):
        claims.claims()
    shutil.copytree(finished, paths.results("again"))
    with pytest.raises(ResultError, match="again and toy-table both give a number for toy_k10, Toy Income, "):
        ledger.ledger()


def test_numbers_of_a_stand_in_are_shown_and_not_judged(toy_checkout, finished, declared):
    before = ledger.ledger()
    ours = before["dataset"].eq("Toy Income") & before["ours"].ne("")
    declared("  stand_ins: {toy: the real incomes are not public}")
    after = ledger.ledger()[ours]
    assert set(after["verdict"]) == {"unavailable"} != set(before.loc[ours, "verdict"])
    assert set(after["reason"]) == {"the real incomes are not public"}
    assert after["ours"].tolist() == before.loc[ours, "ours"].tolist()
