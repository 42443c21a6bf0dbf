"""The ledger: its sentence, counts and block in the README, a reader's run in it, and its pictures without colour."""

import itertools
import re

import pandas as pd
import pytest

from compendium import paths
from compendium.ledger import heat as ledger_heat
from compendium.ledger import state as ledger_state
from compendium.ledger import table as ledger
from compendium.ledger.verdicts import Result
from compendium.store import read_results
from compendium.study import Study

from ..sight import contrast


def test_the_block_is_made_anew_from_the_counts_and_the_rest_is_kept(tmp_path, monkeypatch):
    """1,300 numbers of two papers, of which another method would match a quarter of the tested ones, or half."""
    parts = [("one2020", "as described", "0.25")] * 600 + [("one2020", "other procedure", "0.25")] * 300
    parts += [("one2020", "not reproduced", "0.5")] * 200 + [("two2021", "not a test", "1")] * 200
    counts = ledger.counts(pd.DataFrame(parts, columns=["paper", "result", "chance"]))
    said = ledger_state.sentence(counts)
    assert said.startswith("Of 1,100 numbers that can tell methods apart, 55 % ")
    assert all(share in said for share in (" 27 % ", " 18 % ", " 30 %"))
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    begin, end = ledger_state.BEGIN, ledger_state.END
    (tmp_path / "README.md").write_text(f"# Title\n{begin}\nold | 7\n{end}\nkept\n")
    text = ledger_state.readme(counts, "And more.").decode()
    assert text.startswith(f"# Title\n{begin}\n{said} And more.\n")
    assert text.endswith(f"| all | 1,300 | 200 | 1,100 | 600 | 300 | 200 | 30 % |\n{end}\nkept\n")
    assert "| two2021 | 200 | 200 | 0 | 0 | 0 | 0 | – |" in text


def test_the_sentence_counts_open_numbers_of_evaluations_that_draw():
    parts = [("not reproduced", "", ""), ("not reproduced", "yes", "0"), ("not reproduced", "no", "0.5")]
    columns = ["result", "within_evaluation", "chance_evaluation"]
    frame = pd.DataFrame([*parts, ("as described", "yes", "1")], columns=columns)
    said = ledger_state.distances(frame)
    assert "of the 3 that are not reproduced 2 come" in said
    assert "and 1 of these" in said
    assert said.endswith("as 25 % of other methods' would.")
    assert ledger_state.distances(frame[:1]).endswith("what its rule allows.")


def test_claims_are_counted_by_paper_and_answer():
    answers = ["holds", "holds", "does not hold", "", "not judged"]
    judged = pd.DataFrame({"paper": ["two2021", *["one2020"] * 4], "printed": answers, "program": "", "described": ""})
    judged.loc[0, "described"] = "holds in part"
    counted = ledger_state.claim_counts(judged)
    assert counted.index.tolist() == [
        *(("two2021", side) for side in ("printed", "described")),
        ("one2020", "printed"),
        *(("all", side) for side in ("printed", "described")),
    ]
    assert counted.loc[("one2020", "printed")].tolist() == [3, 1, 0, 1, 1]
    assert counted.loc[("all", "printed")].tolist() == [4, 2, 0, 1, 1]
    assert counted.loc[("all", "described")].tolist() == [1, 0, 1, 0, 0]


def test_a_readers_run_is_judged_in_the_place_of_what_is_stored():
    """With the stored rows every result is as it was; with one other number its cell is judged anew."""
    study = Study("rathore2025-tables", dataset="npha")
    rows = read_results("rathore2025-tables", dataset="npha")
    place = (rows["method"] == "StandardPCA") & (rows["metric"] == "MMD^2") & (rows["k"] == 2)
    assert place.sum() == 1
    stored = ledger.ledger()
    tables = stored["cell"].str.rpartition("/")[0]
    stored = stored[tables.isin(study.entry.published) & stored["dataset"].eq("NPHA")].reset_index(drop=True)
    study.results = rows
    pd.testing.assert_frame_equal(ledger.ledger(study), stored)
    study.results = rows.assign(value=rows["value"].mask(place, 77.0))
    found = ledger.ledger(study)
    (other,) = found.index[found["ours"] != stored["ours"]]
    cell = ["dataset", "method", "metric", "k", "ours", "verdict"]
    assert list(found.loc[other, cell]) == ["NPHA", "StandardPCA", "MMD^2", "2", "77", "differs"]
    assert stored.loc[other, "verdict"] == "exact"


def test_every_published_cell_is_in_one_picture():
    cells = pd.read_csv(ledger.path(), dtype=str, keep_default_na=False)
    links = re.findall(r'href="#([^"]+)"', "".join(html for _, html in ledger_heat.sections(cells)))
    assert sorted(links) == sorted(cells["cell"].map(ledger_heat.anchor))


STYLE = (paths.root() / "book" / "_static" / "ledger.css").read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_can_be_told_apart_without_colour(theme):
    block = re.search(rf'html\[data-theme="{theme}"\] \{{(.*?)\}}', STYLE, re.DOTALL).group(1)
    colours = dict(re.findall(r"--heat-([\w-]+): (#[0-9a-f]{6});", block))
    for name in ("described", "other", "not", "none"):
        assert contrast(colours[name], colours[f"{name}-mark"]) >= 4.5, name
    for less, more in itertools.pairwise(["described", "other", "not"]):
        assert contrast(colours[less], colours[more]) >= 1.25, f"{less} and {more} look alike in grey"
        assert contrast(colours["none"], colours[more]) > contrast(colours["none"], colours[less])


def test_every_result_has_a_mark_of_its_own():
    shapes = dict(re.findall(r'\.heat-(\w+) \{[^}]*--shape: "(.)";', STYLE))
    assert set(shapes) == {one.name.lower() for one in Result}
    assert len(set(shapes.values())) == len(shapes)
    text = (paths.root() / "book" / "_static" / "evenspan.css").read_text(encoding="utf-8")
    marks = dict(re.findall(r'\.verdict-(\w+)::before \{[^}]*content: "([^"]+)"', text))
    assert len({marks[one.name.lower()] for one in Result}) == len(Result)
