"""The comparison on one stream: what each constraint removes and keeps, and points that have the measured gaps."""

import numpy as np
import pandas as pd
import pytest

from compendium.experiments import lee2023_comparison as comparison
from compendium.experiments import records
from evenspan.core.errors import ConfigurationError


@pytest.fixture(scope="module")
def rows():
    return comparison.compared("gap-controlled", 1000, 2)


@pytest.fixture(scope="module")
def table(rows):
    return comparison.last_block(rows)


def test_each_constraint_removes_what_it_names(rows, table):
    records.checked(rows, "comparison")
    vanilla, matched, part, whole = (table.loc[name] for name in comparison.methods("gap-controlled"))
    assert vanilla["mean gap"] > 0.5 > 0.05 > max(row["mean gap"] for row in (matched, part, whole))
    assert min(vanilla["covariance gap"], matched["covariance gap"]) > 0.5
    assert part["covariance gap"] < 0.3
    assert whole["covariance gap"] < 0.05
    assert vanilla["variance kept"] > 0.98
    assert vanilla["variance kept"] > matched["variance kept"] > whole["variance kept"] > 0.3


def test_measures_are_shares_of_the_truth():
    case = comparison.setting("authors")
    top = np.linalg.eigh(case.pair.covariance)[1][:, :-3:-1]
    found = comparison.measures(case, top)
    f = case.pair.mean_difference
    assert found["variance kept"] == pytest.approx(1.0)
    assert found["mean gap"] == pytest.approx(np.linalg.norm(top.T @ f) / np.linalg.norm(f))
    exact = comparison.measures(case, case.V)
    assert exact["mean gap"] < 1e-9
    values = np.sort(abs(np.linalg.eigvalsh(case.pair.covariance_difference)))
    assert exact["covariance gap"] <= values[-4] / values[-1] + 1e-9
    whole = comparison.Setting("x", case.pair, 2, 10)
    assert comparison.measures(case, whole.V)["covariance gap"] < 1e-9


def test_histories_have_one_line_a_block(rows, table):
    found = comparison.histories(rows.sort_values("method"))
    assert list(dict.fromkeys(found["method"])) == list(comparison.methods("gap-controlled"))
    assert found.groupby(["method", "metric"]).size().tolist() == [comparison.BLOCKS] * 12
    assert set(found["streams"]) == {2}
    assert (found["smallest"] <= found["median"]).all()
    last = found[(found["block"] == comparison.BLOCKS) & (found["metric"] == "mean gap")].set_index("method")["median"]
    assert last[comparison.VANILLA] == table.loc[comparison.VANILLA, "mean gap"]


def test_points_have_the_gaps_of_the_components(rows):
    points = comparison.scatter_points(rows, "gap-controlled")
    assert list(dict.fromkeys(points["method"])) == list(comparison.methods("gap-controlled"))
    assert points.groupby(["method", "group"]).size().tolist() == [comparison.DRAWN] * 8
    means = points.groupby(["method", "group"])[["x", "y"]].mean()
    distance = {name: np.linalg.norm(means.loc[(name, 0)] - means.loc[(name, 1)]) for name in set(points["method"])}
    assert distance[comparison.VANILLA] > 4.0 > 1.0 > distance[comparison.MATCHED]


def test_words_and_refusals(table):
    kept = table.loc[comparison.VANILLA, "variance kept"]
    words = comparison.in_words(table)
    assert kept > 0.98
    assert words.startswith(f"Left after the last block, median over the streams. vanilla: {kept:.0%} of the variance")
    assert [task["generator"] for task in comparison.tasks()] == list(comparison.GENERATORS)
    with pytest.raises(ConfigurationError, match="generator='none'"):
        comparison.run("none")
    both = pd.DataFrame({"source": ["this build", "full run"]})
    assert comparison.best_source(both)["source"].tolist() == ["full run"]
    assert len(comparison.best_source(both[:1])) == 1
