"""The guide's table of methods is what the methods do, and its figure leaves none out."""

import pandas as pd
import pytest
from matplotlib import pyplot as plt

import evenspan
from compendium import paths
from compendium.book import guide_figures, guide_methods, guide_tables
from evenspan.core.errors import ConfigurationError
from evenspan.displays.method_looks import looks
from evenspan.methods import METHODS


@pytest.fixture(scope="module")
def facts() -> pd.DataFrame:
    return guide_methods.facts()


def test_all_methods_are_there_and_their_classes_are_exported(facts):
    assert list(facts["method"][: len(METHODS)]) == list(METHODS)
    assert set(facts["class"]) <= set(evenspan.__all__)
    fair = {name for name in evenspan.__all__ if name.endswith(("PCA", "Clustering", "KMeans")) or name.isupper()}
    assert fair - set(facts["class"]) == {"KernelKMeans"}, "a method that the guide does not know"


def test_what_was_found_agrees_with_what_is_known(facts):
    table = facts.set_index("method")
    assert set(table.index[table["groups"] == guide_methods.TWO]) == {
        "Robust PCA (radius 0)", "Robust PCA", "u-FPCA", "c-FPCA", "Convex PCA (mean)", "Convex PCA (both)"
    }  # fmt: skip
    assert (table.loc[table["groups"] == guide_methods.TWO, "refusal"] != "").all()
    assert (table.loc[["INLP", "RLACE", "MMD PCA", "Fair kernel PCA", "FKKM"], "needs"] == guide_methods.ROWS).all()
    assert (table.loc[["PCA", "Fair PCA", "LEACE", "Min-max loss"], "needs"] == guide_methods.MOMENTS).all()
    assert (table.loc[["PCA", "Fair PCA", "LEACE", "u-FPCA"], "certificate"] == guide_methods.MET).all()
    assert (table.loc[["JEVD-PCA", "MMD PCA"], "certificate"] == guide_methods.BOUND).all()
    assert (table.loc[["FFC", "VFC"], "certificate"] == guide_methods.NONE).all()
    assert set(table.index[table["quantities"]]) == {"Fair PCA", "Fair PCA (covariance)", "Fair kernel PCA"}
    # A spectral embedding, and the weights of several kernels, are of the rows that were fitted.
    assert set(table.index[~table["new rows"].astype(bool)]) == {"FairSC", "FMKKM"}


def test_a_shortlist_holds_what_fits():
    assert guide_methods.shortlist(alike="errors", groups=3) == ["Min-max error"]
    assert "u-FPCA" in guide_methods.shortlist(alike="errors")
    assert "INLP" not in guide_methods.shortlist(alike="means", rows=False)
    assert len(guide_methods.shortlist()) == len(guide_methods.facts())
    with pytest.raises(ConfigurationError, match="'everything'; needed is one of 'nothing', 'losses'"):
        guide_methods.shortlist(alike="everything")


def test_every_chapter_that_is_linked_exists(facts):
    for page in facts["chapter"]:
        assert (paths.root() / "book" / f"{page}.md").is_file(), page


def test_the_figure_names_every_method_once(facts):
    lines = guide_figures.rows(facts)
    assert sorted(line.text for line in lines if line.method is not None) == sorted(facts["method"])
    figure = guide_figures.outline(facts, looks(facts["method"]))
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert all(shown.count(name) == 1 for name in facts["method"])
    assert {"two", "any number", "rows", "moments"} <= set(shown)
    plt.close(figure)


def test_a_method_without_a_place_is_an_error(facts):
    stranger = facts.iloc[[0]].assign(method="stranger", alike="luck")
    with pytest.raises(ConfigurationError, match="stranger: no place in the outline"):
        guide_figures.rows(pd.concat([facts, stranger]))


def test_tables_link_to_chapters(facts):
    page = guide_tables.methods(facts).data
    assert page.count("<tr") == len(facts) + 1
    assert 'href="../papers/kleindessner2023/derivation.html">Fair PCA<' in page
    assert guide_tables.refusals(facts).data.count("<tr") == 7
    assert "MMD PCA" in guide_tables.certified(facts).data
    assert ">VFC<" not in guide_tables.certified(facts).data
