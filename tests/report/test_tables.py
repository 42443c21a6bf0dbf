"""Tables of results pages: marks that the style sheet knows, numbers as they are printed, honest gaps."""

import re

from compendium import paths
from compendium.book import tables
from compendium.store import read_results
from compendium.study import Study

KNOWN = set(re.findall(r"\.(verdict-[a-z_]+)::before", (paths.root() / "book/_static/evenspan.css").read_text()))


def classes(markup: str) -> set[str]:
    return set(re.findall(r"verdict-[a-z_]+", markup))


def study(dataset: str, k: int) -> Study:
    """One whose rows are the stored ones."""
    found = Study("kleindessner2023-table", dataset=dataset, k=k)
    found.results = read_results("kleindessner2023-table", dataset=dataset, k=k).assign(source="published")
    return found


def test_every_answer_carries_a_mark_of_the_style_sheet():
    markup = tables.claim_table(study("adult", 10), ["R04", "Z11", "K16"]).data
    assert {"verdict-not", "verdict-no_test"} <= classes(markup) <= KNOWN
    assert re.search(r'class="verdict verdict-not">does not hold<', markup)


def test_a_readers_run_answers_claims_by_its_own_rows_and_says_what_is_missing():
    own = study("adult", 2)
    own.edited_reason = "a cell was edited: METHODS = {"
    markup = tables.claim_table(own, ["K04", "K11"]).data
    assert markup.count("not judged in this run") == 2
    assert "missing: no rows of kleindessner2023-runtime, which did not run here" in markup


def test_the_printed_table_has_printed_and_ours_side_by_side():
    markup = tables.result_table(study("adult", 10), caption="All").data.replace("\u00a0", " ")
    row = next(r for r in markup.split("<tr>") if ">Fair PCA<" in r)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
    assert re.findall(r"<th>(.*?)</th>", markup)[:2] == ["method", "%Var"]
    theirs, ours, mark = cells[1].split("<br>")
    assert [theirs, ours] == ["19.62 ± 1.73", "19.62 ± 1.73"]
    assert re.fullmatch(
        r'<span class="verdict verdict-described" id="kleindessner2023_adult_k10-\d+".*>[+-]?0.0\d\s%</span>', mark
    )
    assert classes(markup) <= KNOWN
    assert not classes(tables.result_table(study("compas", 3), caption="All").data), "nothing is printed"


def test_numbers_as_printed_and_no_number_is_a_dash():
    assert tables.mean_and_spread(81.314, 1.234) == "81.31 ± 1.23"
    assert tables.mean_and_spread(0.0436, 0.02) == "0.044 ± 0.020"
    assert tables.mean_and_spread(0.5, None) == "0.500"
    assert tables.mean_and_spread(float("nan"), 1.0) == "–"


def test_links_lead_to_stored_files():
    shown = study("german", 2)
    shown.units = {"german-k2-pca": {"dataset": "german", "k": 2, "method": "PCA"}}
    shown.results = shown.results[shown.results["method"] == "PCA"]
    markup = tables.trail(shown).data
    found = re.findall(r'href="\.\./\.\./_static/results/full/(.*?)"', markup)
    assert found == [f"kleindessner2023-table/german-k2.{kind}" for kind in ("csv", "json")]
    assert all(paths.results(name).is_file() for name in found)


def test_a_sentence_is_text_not_markup_and_says_what_is_unknown():
    missing = float("nan")
    said = tables.sentence(f"{missing:.2f} of {-missing:+.1%}, a < b: nanometres, Nan, dt_nan").data
    assert said == "<p>unknown of unknown, a &lt; b: nanometres, Nan, dt_nan</p>"
