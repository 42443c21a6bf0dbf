"""The guide's table of methods is what the methods do, and its messages are those given; checks of chapters."""

import warnings

import numpy as np
import pandas as pd
import pytest

import evenspan
from compendium import paths
from compendium.book import guide
from compendium.book.checks import agree
from compendium.book.guide import told
from evenspan.core.errors import ExecutionError, GroupError
from evenspan.methods import METHODS


@pytest.fixture(scope="module")
def facts() -> pd.DataFrame:
    return guide.facts()


def test_all_methods_are_there_with_exported_classes_and_chapters(facts):
    assert list(facts["method"][: len(METHODS)]) == list(METHODS)
    assert set(facts["class"]) <= set(evenspan.__all__)
    fair = {name for name in evenspan.__all__ if name.endswith(("PCA", "Clustering", "KMeans")) or name.isupper()}
    assert fair - set(facts["class"]) == {"KernelKMeans"}, "a method that the guide does not know"
    for page in facts["chapter"]:
        assert (paths.root() / "book" / f"{page}.md").is_file(), page


def test_what_was_found_agrees_with_what_is_known(facts):
    table = facts.set_index("method")
    assert set(table.index[table["groups"] == guide.TWO]) == {
        "Robust PCA (radius 0)", "Robust PCA", "FCA", "u-FPCA", "c-FPCA", "Convex PCA (mean)", "Convex PCA (both)"
    }  # fmt: skip
    assert (table.loc[table["groups"] == guide.TWO, "refusal"] != "").all()
    for column, value, names in (
        ("needs", guide.ROWS, ["INLP", "RLACE", "MMD PCA", "Fair kernel PCA", "Iterated kernel erasure", "FKKM"]),
        ("needs", guide.MOMENTS, ["PCA", "Fair PCA", "LEACE", "Min-max loss"]),
        ("certificate", guide.WHOLE, ["PCA", "Fair PCA", "Min-max loss", "Robust PCA"]),
        ("of three groups", guide.BOUND, ["Min-max loss", "Min-max error"]),
        ("certificate", guide.BOUND, ["JEVD-PCA", "MMD PCA", "FKKM"]),
        ("certificate", guide.STEP, ["INLP", "RLACE", "Null-it-out PCA", "Fair PCA (covariance)", "u-FPCA", "FairSC"]),
        ("certificate", guide.STEP, ["LEACE", "Fair kernel PCA"]),
        ("certificate", guide.NONE, ["FFC", "FCA", "VFC", "Iterated kernel erasure"]),
    ):
        assert (table.loc[names, column] == value).all(), value
    assert set(table.index[table["quantities"]]) == {"Fair PCA", "Fair PCA (covariance)", "Fair kernel PCA", "LEACE"}
    # A spectral embedding, and the weights of several kernels, are of the rows that were fitted.
    assert set(table.index[~table["new rows"].astype(bool)]) == {"FairSC", "FMKKM"}


def test_a_share_of_proved_fits_is_shown_of_no_last_step(facts):
    shares = dict.fromkeys(facts["method"], 1.0) | {"FKKM-f": 0.5, "FMKKM (unshifted)": 1.0, "Mine": 1.0}
    said = {name: guide.certified(name, shares) for name in [*shares, "K-means"]}
    assert {name for name, text in said.items() if "%" in text} == {
        *facts.query(f"certificate in ['{guide.WHOLE}', '{guide.BOUND}']")["method"], "FKKM-f", "Mine"
    }  # fmt: skip
    assert (said["INLP"], said["FMKKM (unshifted)"], said["VFC"], said["K-means"]) == ("last step",) * 2 + ("none", "–")
    assert (said["Fair PCA"], said["FKKM-f"]) == ("whole problem, 100%", "bound, 50%")


def test_silence_and_anything_else_are_errors_of_the_page():
    for expected, said in (([GroupError], "to give GroupError and gave nothing"), ([], "gave nothing")):
        with pytest.raises(ExecutionError, match=said), told(*expected):
            pass
    with pytest.raises(KeyError), told(GroupError):
        raise KeyError("other")
    with pytest.raises(ExecutionError, match="gave RuntimeWarning: odd"), told(UserWarning):
        warnings.warn("odd", RuntimeWarning, stacklevel=1)


def test_two_sides_that_agree_say_by_how_much_and_others_are_refused():
    assert agree([100.0, 1.0], [100.0, 1.0 + 1e-9]) == pytest.approx(1e-11)  # of the largest entry
    assert agree(np.full(3, 1e-12), np.zeros(3), atol=1e-9) == 1e-12  # nothing to be relative to
    with pytest.raises(AssertionError):
        agree([1.0, 2.0], [1.0, 2.0 + 1e-6])
