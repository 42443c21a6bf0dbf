"""The ledger: the published numbers, their join with results, the page, and the claims."""

import importlib
import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from compendium import paths
from compendium.catalogue import experiment
from compendium.ledger import claims
from compendium.ledger import page as ledger_page
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
    cells = ledger.published()
    assert len(cells) == 1260
    assert (cells["std"] != "").sum() == 86
    assert (cells["value"] != "").all(), "where words are printed, there is no row"
    assert list(real.columns) == list(ledger.COLUMNS)
    assert real["cell"].tolist() == sorted(cells["cell"])
    assert real["cell"].is_unique
    assert set(real["verdict"]) <= {kind.value for kind in Kind}
    counts = ledger.counts(real)
    assert counts["printed"].to_dict() == {
        "kleindessner2023": 86, "rathore2025": 664, "vu2022": 318, "zhou2024": 192, "all": 1260,
    }  # fmt: skip
    assert counts["tested"].tolist() == [86, 317, 308, 64, 775]
    parts = counts[["as described", "other procedure", "not reproduced"]]
    assert (parts.sum(axis=1) == counts["tested"]).all()
    ledger.check(real)


def test_a_table_without_methods_is_compared_with_other_data(real):
    sizes = real[(real["table"] == "Table 2") & (real["paper"] == "vu2022") & (real["result"] != "not a test")]
    assert len(sizes) == 28
    assert (sizes["chance"].astype(float) < 1 / 2).all()


def test_another_procedure_is_named_and_decides_where_the_paper_does_not_agree(real):
    """Cells and whole columns: a released program that departs from its paper, and PCA of one group."""
    found = ledger.columns(real).set_index(["paper", "table", "method"])
    weight = found.loc[("vu2022", "Table 1", "CFPCA - Both Con.")]
    assert weight[["tested", "described", "by_procedure", "column"]].tolist() == [28, 0, 28, "other procedure"]
    women = found.loc[("rathore2025", "Table 3", "JevdPCA")]
    assert women[["procedure", "by_procedure", "column"]].tolist() == ["PCA of the women", 26, "other procedure"]
    full_rank = found.loc[("vu2022", "Table 1", "FairPCA")]
    assert full_rank["by_procedure"] > full_rank["described"] > full_rank["tested"] / 2, "cells, but no whole column"
    assert full_rank["column"] == "partly as described"
    assert found.loc[("vu2022", "Table 1", "RFPCA"), "column"] == "as described"
    other = real[real["result"] == "other procedure"]
    assert (other["procedure"] != "").all()
    assert ((other["by_procedure"] == "yes") & (other["described"] == "no")).all()


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
    verdicts = judged["verdict"].to_dict()
    assert verdicts == {
        ("PCA", "%Var"): "exact",  # 20 printed in a column with one decimal
        ("Fair PCA", "%Var"): "close",
        ("Fair PCA-S (0.5)", "%Var"): "same ordering only",
        ("INLP", "%Var"): "not yet run",
        ("PCA", "MMD^2"): "differs",
        ("Fair PCA-S (0.5)", "MMD^2"): "unavailable",
    }
    assert judged.loc[("Fair PCA-S (0.5)", "MMD^2"), "reason"] == "no kernel width, said the test"
    counts = ledger.counts(ledger.ledger())
    assert counts.loc["all"].tolist()[:-1] == [6, 3, 3, 2, 0, 1]
    assert ledger_state.sentence(counts).startswith("Of 3 numbers that can tell methods apart, 67 % are")


def test_ours_is_the_mean_over_the_splits_of_the_published_protocol(judged, finished):
    row = judged.loc[("PCA", "MMD^2")]
    rows = whole(importlib.import_module("toy_project.protocol").judged(10, "PCA"))
    values = rows.loc[(rows["protocol"] == "released") & (rows["metric"] == "MMD^2"), "value"]
    assert float(row["ours"]) == pytest.approx(values.mean(), rel=1e-9)
    assert float(row["ours_std"]) == pytest.approx(values.std(ddof=0), rel=1e-9)
    assert row["splits"] == "3"
    assert float(row["deviation_digits"]) == pytest.approx((values.mean() - 77.777) * 1000, rel=1e-3)
    assert float(row["deviation_sd"]) == pytest.approx((values.mean() - 77.777) / 0.006, rel=1e-3)
    trail = row[["experiment", "execution", "tasks", "data_card"]].tolist()
    assert trail == ["toy-table", "toy-k10", "k10-pca", "toy"]
    assert judged.loc[("INLP", "%Var"), "experiment"] == ""


def test_two_numbers_for_one_cell_are_refused(finished, monkeypatch):
    rows = ledger.read_results("toy-table")
    again = rows[rows["task"] == "k10-pca"].assign(task="k10-old")
    monkeypatch.setattr(ledger, "read_results", lambda _: pd.concat([rows, again], ignore_index=True))
    with pytest.raises(ResultError, match=r"two numbers for one split of toy_k10, Toy Income, PCA, .*k10-old, k10-pca"):
        ledger.ledger()


def test_an_altered_result_is_named_and_never_judged(finished):
    csv = finished / "toy-k10.csv"
    rows = csv.read_text().splitlines(keepends=True)
    row = next(i for i, text in enumerate(rows) if text.startswith("k10-pca,") and ",released,%Var," in text)
    other = rows[row].replace(",released,%Var,", ",released,%Var,9")
    for altered in (other, rows[row] * 2, rows[row][:-1] + ",x\n", ""):
        csv.write_text("".join([*rows[:row], altered, *rows[row + 1 :]]))
        with pytest.raises(ResultError, match="toy-k10"):
            ledger.ledger()


def test_published_tables_are_checked(toy_checkout):
    path = toy_checkout / "data" / "paper" / "toy_k10.csv"
    original = path.read_text()
    path.write_text(original + original.splitlines()[1] + "\n")
    with pytest.raises(ResultError, match=r"two rows for .*'method': 'PCA'"):
        ledger.published()
    path.write_text(original.replace("77.777", "77,777").replace(",77,777,", ',"77,777",'))
    with pytest.raises(ResultError, match="'77,777' in a published table is not a number"):
        ledger.ledger()


class Tables(HTMLParser):
    """Rows and links of the HTML in a page; unbalanced table tags raise."""

    def __init__(self):
        super().__init__()
        self.rows, self.links, self.open = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag in ("table", "tr", "td", "th", "a", "span", "div", "dl", "dt", "dd"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append(dict(attributes))
        if tag == "a":
            self.links.append(dict(attributes)["href"])

    def handle_endtag(self, tag):
        if tag in ("table", "tr", "td", "th", "a", "span", "div", "dl", "dt", "dd"):
            assert self.open.pop() == tag


def parsed(text: str) -> Tables:
    tables = Tables()
    for block in re.findall(r"```\{raw\} html\n(.*?)\n```", text, re.DOTALL):
        tables.feed(block)
    assert not tables.open
    return tables


def test_the_page_shows_every_row_with_its_trail(finished):
    frame = ledger.ledger()
    text = ledger_page.page(frame, ledger.counts(frame))
    tables = parsed(text)
    identified = [row["id"] for row in tables.rows if row.get("id", "").startswith("toy_k10-")]
    assert identified == [f"toy_k10-00{row}" for row in range(1, 7)]
    assert "experiments/toy-table.html#toy-k10" in tables.links
    assert "_static/results/full/toy-table/toy-k10.csv" in tables.links
    assert "_static/results/full/toy-table/toy-k10.json" in tables.links
    assert "data/cards/toy.html" in tables.links
    assert text.count('class="verdict verdict-described"') >= 2
    assert "no kernel width, said the test" in text, "what is missing is said"
    numbers = "<td>20 ± 1.5</td><td>20.00 ± 0.10</td><td>exact</td><td>+0.0</td><td>+0.00</td>"
    assert numbers in text.replace("\u00a0", " ")


def test_the_real_page_is_balanced_and_complete(real, monkeypatch):
    monkeypatch.setattr(claims, "registered", dict)  # their answers take a minute
    text = ledger_page.page(real, ledger.counts(real))
    rows = [row["id"] for row in parsed(text).rows if "id" in row] + re.findall(r'<span id="(claim-[^"]+)"', text)
    assert sum(not row.startswith("claim-") for row in rows) == 1260
    assert sum(row.startswith("claim-") for row in rows) == 91
    assert len(set(rows)) == len(rows)
    assert "1,260 numbers" in text
    table = ledger.to_csv(real).decode()
    script = ledger_page.rows_script(table)
    held = json.loads(script.removeprefix("window.evenspanLedger = ").removesuffix(";\n"))
    assert held["head"] + "".join(held["rows"].values()) == table
    assert list(held["rows"]) == real["cell"].tolist()


@pytest.fixture
def declared(toy_checkout):
    """Add fields to the toy's entry of the list of experiments."""

    def add(fields: str) -> None:
        path = toy_checkout / "experiments.yml"
        path.write_text(path.read_text().replace("  choices:", f"{fields}\n  choices:"))

    return add


def test_what_every_method_gives_is_no_test(toy_checkout, finished, declared):
    """The chance agreement is 1 where every method passes, 0 where none does; a number alone in its table has none."""
    declared("  splits: own\n  repetitions: 3")
    path = toy_checkout / "data" / "paper" / "toy_k10.csv"
    path.write_text(path.read_text().replace("Fair PCA,%Var,10,,15.2,,", "Fair PCA,%Var,10,,15.2,30,"))
    frame = ledger.ledger().set_index(["method", "metric"])[["verdict", "result", "no_test", "chance"]]
    assert frame.loc[("PCA", "%Var")].tolist() == ["exact", "as described", "", "0"]
    assert frame.loc[("Fair PCA", "%Var")].tolist() == ["close", "not a test", "every method gives it", "1"]
    assert frame.loc[("PCA", "MMD^2")].tolist() == ["differs", "not a test", "nothing to compare with", ""]
    assert frame.loc[("INLP", "%Var")].tolist() == ["not yet run", "not a test", "unavailable", ""]
    assert ledger.counts(ledger.ledger()).loc["all"].tolist() == [6, 4, 2, 1, 0, 1, 0]


def test_what_was_used_to_set_up_the_data_is_no_test(toy_checkout, finished, declared):
    declared(
        "  not_a_test:\n    - {because: used to set up the data, method: PCA, metric: '%Var', reason: it chose}\n"
        "    - {because: timing, metric: MMD^2, reason: not ours}"
    )
    found = ledger.ledger().set_index(["method", "metric"])["no_test"]
    assert found["PCA", "%Var"] == "used to set up the data"
    assert found["Fair PCA", "%Var"] == ""
    assert found["PCA", "MMD^2"] == "timing"
    assert found["Fair PCA-S (0.5)", "MMD^2"] == "unavailable"


@pytest.mark.parametrize(
    ("described", "rows", "result"),
    [
        ("", "PCA", "other procedure"),  # the printed 10.55 of Fair PCA-S is not ours, but, let us say, another's
        ("PCA", "Fair PCA-S (0.5)", "not reproduced"),
    ],
)
def test_a_declared_procedure(toy_checkout, finished, declared, described, rows, result):
    path = toy_checkout / "data" / "paper" / "toy_k10.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    place = (frame["method"] == "Fair PCA-S (0.5)") & (frame["metric"] == "%Var")
    frame.loc[place, ["value", "std"]] = "20.0", ""
    frame.to_csv(path, index=False)
    more = f", described: {described}" if described else ""
    declared(f"  procedures:\n    - {{name: plain PCA, method: Fair PCA-S (0.5), rows: {rows}{more}}}")
    row = ledger.ledger().set_index(["method", "metric"]).loc[("Fair PCA-S (0.5)", "%Var")]
    assert row[["result", "procedure"]].tolist() == [result if not described else "as described", "plain PCA"]


def test_claims_are_open_until_an_experiment_answers(toy_checkout):
    frame = claims.claims().set_index("id")
    assert len(frame) == 91
    assert frame.loc["K01", ["here", "evidence", "experiment"]].tolist() == ["holds", "1 < 2, computed", "toy-table"]
    assert frame.loc["K02", "here"] == "not judged"
    assert (frame["here"] == "not judged").sum() == 90
    importlib.import_module("toy_project.claims").CLAIMS["toy-table"]["K02"] = lambda: 1 / 0
    assert claims.claims(["K01"])["here"].tolist() == ["holds"], "the others are not computed"
    with pytest.raises(ZeroDivisionError):
        claims.claims(["K02"])


def test_one_claim_is_answered_by_one_experiment(toy_checkout):
    path = toy_checkout / "experiments.yml"
    path.write_text(path.read_text() + path.read_text().replace("toy-table", "again"))
    module = importlib.import_module("toy_project.claims")
    module.CLAIMS["again"] = module.CLAIMS["toy-table"]
    with pytest.raises(ResultError, match=r"again and another experiment answer the claim"):
        claims.claims()


def test_one_cell_is_judged_by_one_experiment(finished):
    path = paths.root() / "experiments.yml"
    path.write_text(path.read_text() + path.read_text().replace("toy-table:", "again:"))
    other = paths.results("again")
    other.mkdir()
    for source in finished.glob("toy-k10.*"):
        (other / source.name).write_bytes(source.read_bytes())
    with pytest.raises(ResultError, match="again and toy-table both give a number for toy_k10, Toy Income, "):
        ledger.ledger()


def test_one_experiment_judges_several_tables_that_name_a_data_set_differently(toy_checkout, finished):
    """A second table, for the other protocol, spells the data set in its own way."""
    path = toy_checkout / "data" / "paper" / "toy_second.csv"
    path.write_text(
        "paper,table,dataset,method,metric,k,split,value,std,bold,unit,note\n"
        "kleindessner2023,Other table,Toy’s,PCA,%Var,10,out,0.5,,,%,\n"
        "kleindessner2023,Other table,Toy’s,PCA,MMD^2,10,,0.5,,,,\n"
    )
    entries = toy_checkout / "experiments.yml"
    text = entries.read_text().replace("published: toy_k10", "published: [toy_k10, toy_second]")
    protocols = 'published_protocols: {"": released, out: held-out}'
    text = text.replace("{toy: Toy Income}", f"{{toy: [Toy Income, Toy’s]}}\n  {protocols}")
    entries.write_text(text)
    entry = experiment("toy-table")
    assert entry.published == ("toy_k10", "toy_second")
    assert entry.published_datasets == {"toy": ("Toy Income", "Toy’s")}
    frame = ledger.ledger()
    found = frame[frame["cell"].str.startswith("toy_second/")].set_index("metric")
    assert found.loc["%Var", "experiment"] == found.loc["MMD^2", "experiment"] == "toy-table"
    first = frame[(frame["cell"].str.startswith("toy_k10/")) & (frame["method"] == "PCA")].set_index("metric")
    assert found.loc["MMD^2", "ours"] == first.loc["MMD^2", "ours"], "the same protocol in both tables"
    assert float(found.loc["%Var", "ours"]) < 5 < float(first.loc["%Var", "ours"]), "another protocol"


def test_numbers_of_a_stand_in_are_shown_and_not_judged(toy_checkout, finished):
    before = ledger.ledger()
    ours = before["dataset"].eq("Toy Income") & before["ours"].ne("")
    assert "not computable" not in set(before.loc[ours, "verdict"])
    entries = toy_checkout / "experiments.yml"
    text = "{toy: Toy Income}\n  stand_ins: {toy: the real incomes are not public}"
    entries.write_text(entries.read_text().replace("{toy: Toy Income}", text))
    after = ledger.ledger()[ours]
    assert set(after["verdict"]) == {"unavailable"}
    assert set(after["reason"]) == {"the real incomes are not public"}
    assert after["ours"].tolist() == before.loc[ours, "ours"].tolist()
