"""Five classifiers after every method: the controls behave, and areas, intervals and sentences are what they say."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.across import classifiers
from compendium.papers.across.classifiers import CLASSIFIERS

AREAS = {"all features": (0.9, 0.95), "groups permuted": (0.48, 0.53), "LEACE": (0.5, 0.7), "u-FPCA": (0.58, 0.55)}


@pytest.fixture(scope="module")
def rows():
    """Areas of logistic regression and of all others, a little larger on the second of two data sets."""
    found = []
    for dataset, more in (("compas", 0.0), ("magic", 0.04)):
        for method, (linear, other) in AREAS.items():
            for split in range(3):
                for name in CLASSIFIERS:
                    area = (linear if name == CLASSIFIERS[0] else other) + more + 0.01 * (split - 1)
                    measured = {f"AUC, {name}": area, f"AUC, {name}, standard error": 0.01 * (split + 1)}
                    found += [(dataset, method, 5, split, "held-out", *pair) for pair in measured.items()]
    found.append(("magic", "RLACE", 5, 0, "held-out", f"AUC, {CLASSIFIERS[0]}", np.nan))
    return pd.DataFrame(found, columns=["dataset", "method", "k", "split", "protocol", "metric", "value"])


def test_areas_have_intervals_that_hold_whatever_splits_share(rows):
    found = classifiers.areas(rows).set_index(["dataset", "method", "classifier"])
    assert len(found) == 2 * len(AREAS) * len(CLASSIFIERS)  # what has no value has no line
    one = found.loc[("magic", "LEACE", "boosting")]
    assert one["mean"] == pytest.approx(0.74)
    assert one["deviation"] == pytest.approx(0.01)
    assert one["high"] - one["mean"] == pytest.approx(1.959964 * 0.01 * np.sqrt(14 / 3))
    split = classifiers.by_split(rows)
    assert len(split) == 3 * len(found)
    assert split["error"].isin([0.01, 0.02, 0.03]).all()


def test_medians_the_strongest_and_the_sentences(rows):
    found = classifiers.areas(rows)
    middle = classifiers.quartiles(found).set_index(["method", "classifier"])
    assert tuple(middle.loc[("LEACE", "boosting")]) == pytest.approx((0.71, 0.72, 0.73))
    most = classifiers.strongest(found)
    assert tuple(most.loc["u-FPCA", ["compas", "magic"]]) == pytest.approx((0.58, 0.62))
    assert classifiers.in_order(most.index) == ["all features", "groups permuted", "u-FPCA", "LEACE"]
    text = classifiers.hidden(found).data
    assert [part.split("</td>")[1].strip()[4:] for part in text.split("<tr>")[1:]] == [
        "0 of 2",
        "2 of 2",
        "1 of 2",
        "0 of 2",
    ]
    text = classifiers.verdict(found[found["dataset"] == "compas"]).data
    assert "permuted, the intervals of 5 of 5" in text
    assert "boosting, reaches 0.95" in text
    assert "logistic regression reaches one half after 1 of 2 methods, those of all five after 0." in text
    text = classifiers.table(middle.reset_index(), "medians").data
    assert "0.72 (0.71 to 0.73)" in text
    text = classifiers.by_data_set(
        found, "boosting", ["all features", "LEACE"], {"magic": "Magic", "compas": "COMPAS"}
    ).data
    assert text.index("Magic") < text.index("COMPAS")
    assert "0.74 ± 0.04" in text
    nothing = found.iloc[:0]
    for shown in (
        classifiers.table(nothing, ""),
        classifiers.hidden(nothing),
        classifiers.by_data_set(nothing, "boosting", [], {}),
    ):
        assert "has not been stored" in shown.data


def test_the_notebook_reads_what_there_is_and_nothing_where_groups_are_permuted(cells_of):
    space = cells_of(
        "across-classifiers",
        **{
            "dataset": "sklearn_diabetes",
            "methods": "all features, groups permuted, LEACE (all features)",
            "splits": 2,
        },
    )
    assert tuple(space["CLASSIFIERS"]) == CLASSIFIERS
    assert space["CONTROLS"] == classifiers.CONTROLS
    found = classifiers.areas(space["results"]).set_index(["method", "classifier"])
    assert (found.loc["all features", "low"] > 0.5).all()
    assert (found.loc["groups permuted", "low"] < 0.5).all()
    assert (found.loc["groups permuted", "high"] > 0.5).all()
    assert (
        found.loc[("LEACE (all features)", CLASSIFIERS[0]), "mean"] < found.loc[("all features", CLASSIFIERS[0]), "low"]
    )
