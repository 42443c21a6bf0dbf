"""Five classifiers after every method: the controls behave."""

from compendium.papers.across import summary


def test_the_notebook_finds_what_there_is_and_nothing_where_groups_are_permuted(cells_of):
    methods = "all features, groups permuted, LEACE (all features)"
    space = cells_of("across-classifiers", dataset="sklearn_diabetes", methods=methods, splits=2)
    linear = summary.CLASSIFIERS[0]
    assert (tuple(space["CLASSIFIERS"]), space["CONTROLS"]) == (summary.CLASSIFIERS, summary.CONTROLS)
    found = summary.areas(space["results"]).set_index(["method", "classifier"])
    assert (found.loc["all features", "low"] > 0.5).all()
    assert (found.loc["groups permuted", "low"] < 0.5).all()
    assert (found.loc["groups permuted", "high"] > 0.5).all()
    assert found.loc[("LEACE (all features)", linear), "mean"] < found.loc[("all features", linear), "low"]
