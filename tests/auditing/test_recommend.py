"""The rule of the recommendation: what is mended, what is left alone, and the sentences that say why."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from evenspan.auditing.analyse import analyse, kept_groups
from evenspan.auditing.fitting import QUICK, chosen_methods, fit_method
from evenspan.auditing.judge import Row
from evenspan.auditing.progress import Progress
from evenspan.auditing.recommend import CONCERNS, KEPT, Seen, of_attribute, recommend, require_concern, smallest_k
from evenspan.auditing.sample import read_sample
from evenspan.core.answer import Certificate
from evenspan.core.errors import ConfigurationError
from evenspan.methods import METHODS

from .tables import rows, sample


def seen(found, methods=None, sizes=(2,)):
    names = chosen_methods(methods, [len(found.moments("team").labels)])
    return analyse(kept_groups(found, "team"), sizes, names, len(sizes) == 1, 200, 0, Progress())


# -- the rule on numbers that are given --------------------------------------------------------------------------------

NOISE = np.random.default_rng(0).normal(size=400)


def given(values, *, chance=0.1, average=None, losses=((2.0, 1.0), (2.0, 1.0)), spread=1.0, noise=0.01):
    """What the rule sees of methods with these gaps, on held-out rows: they vary alike but for a little noise."""
    rng, judged, fits = np.random.default_rng(1), {}, {}
    for name, value in values.items():
        price = (average or {}).get(name, 1.0)
        own = {"average error": (price, price + noise * rng.normal(size=400))}
        drawn = (value, value + NOISE + noise * rng.normal(size=400))
        judged[name] = SimpleNamespace(
            part=SimpleNamespace(name="held out", labels=["a", "b"]), average=price, spread=spread,
            losses=np.array(losses[1]), errors=np.array([2.0, 1.0]),
            statistic=lambda metric, own=own, drawn=drawn: own.get(metric, drawn),
        )  # fmt: skip
        fits[name] = SimpleNamespace(estimator=SimpleNamespace(certificate_=Certificate("p", 1.0, 1.0)), reason="")
    metrics = {name for what in CONCERNS.values() for name in (what.gap, what.metric)}
    lines = {
        name: [Row(metric, value, value - chance, value + chance, chance) for metric in metrics]
        for name, value in values.items()
    }
    fitted = {name: SimpleNamespace(**vars(one) | {"losses": np.array(losses[0])}) for name, one in judged.items()}
    return Seen("team", 2, fits, judged, fitted, lines, None)


def test_where_principal_components_make_no_error_the_price_is_said_without_a_share():
    found = given({"PCA": 2.0, "Fair PCA": 0.5}, average={"PCA": 0.0, "Fair PCA": 0.25})
    for one in found.judged.values():
        one.errors = np.zeros(2)
    found.judged["Fair PCA"].errors = np.array([0.3, 0.2])
    advice = recommend(found, "means", "")
    assert advice.method == "Fair PCA"
    assert advice.figures["price"] == np.inf
    assert any("PCA makes no error on these rows, Fair PCA one of 0.25" in text for text in advice.reason)


@pytest.mark.parametrize(
    ("concern", "method", "said", "what"),
    [
        # The smallest gap that is told apart, and of those alike the one of the least average error.
        ("errors", "u-FPCA", "has the smallest", given({"PCA": 2.0, "u-FPCA": 0.5, "c-FPCA": 1.0})),
        ("errors", "c-FPCA", "not differ significantly", given({"PCA": 2.0, "u-FPCA": 0.5, "c-FPCA": 0.501},
                                                     average={"u-FPCA": 1.5, "c-FPCA": 1.2})),
        ("means", "Fair PCA", "brings the mean distance", given({"PCA": 2.0, "u-FPCA": 0.1, "Fair PCA": 0.5})),
        ("losses", "Min-max loss", "The loss gap becomes", given({"PCA": 2.0, "Min-max loss": 0.5})),
        # Nothing to mend, or nothing to mend it with.
        ("errors", "PCA", "chance alone gives", given({"PCA": 2.0, "u-FPCA": 0.5}, chance=2.5)),
        ("errors", "PCA", "acts from 2%", given({"PCA": 0.019, "u-FPCA": 0.001}, chance=0.001)),
        ("means", "PCA", "acts from 10%", given({"PCA": 0.09, "Fair PCA": 0.001}, chance=0.001)),
        ("means", "Fair PCA", "The price", given({"PCA": 0.09, "Fair PCA": 0.001}, chance=0, spread=0.5, noise=0.001)),
        ("losses", "PCA", "the other way round", given({"PCA": 2.0, "Min-max loss": 0.5}, losses=((1, 2), (2, 1)))),
        ("errors", "PCA", "chance alone makes differences", given({"PCA": 2.0, "u-FPCA": 1.9}, noise=1.0)),
        ("errors", "PCA", "None of the methods that were asked for", given({"PCA": 2.0, "Fair PCA": 0.1})),
    ],
)  # fmt: skip
def test_the_rule(concern, method, said, what):
    advice = recommend(what, concern, "why k")
    assert advice.method == method
    assert said in " ".join(advice.reason)
    assert (
        advice.keeps_pca
        == (method == "PCA")
        == ("keep PCA" in advice.reason[1] or "PCA is what is left" in advice.reason[1])
    )
    assert advice.reason[-1] == "why k"
    assert advice.figures["after"] == what.judged[method].statistic(CONCERNS[concern].metric)[0]


# -- the rule on samples ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two():
    return seen(sample(*rows((6000, 4000), d=5)), sizes=(1, 2))


@pytest.mark.parametrize("concern", CONCERNS)
def test_a_gap_that_is_there_is_mended_by_a_method_made_for_it(two, concern):
    advice = recommend(two.seen, concern, two.why_k)
    made = {"losses": "Min-max loss", "errors": ("Min-max error", "u-FPCA", "c-FPCA", "Robust PCA"), "means": QUICK}
    assert advice.method in made[concern]
    assert not advice.keeps_pca
    assert advice.figures["after"] < {"losses": 0.8, "errors": 0.3, "means": 0.3}[concern] * advice.figures["before"]
    assert advice.figures["gap"] > advice.figures["chance"]
    text = " ".join(advice.reason)
    wanted = (advice.method, "95 % interval", "certificate", "The price", f"{advice.figures['before']:,.3g}")
    assert [word for word in wanted if word not in text] == []
    assert ("every projection" in text) == (concern != "means")
    assert advice.limits


def test_a_meaningless_column_leads_to_keeping_pca():
    # The groups of the two tables are dealt at random; by chance alone one of twenty gaps is told from zero, and a
    # method then has to beat PCA by more than chance as well.
    X, labels = rows((600, 360), d=5)
    kept = dict.fromkeys(CONCERNS, 0)
    for seed in range(8):
        shuffled = np.random.default_rng(seed).permutation(labels)
        analysis = seen(sample(X, shuffled, seed=seed), ["Min-max loss", "u-FPCA", "Fair PCA"])
        for concern in CONCERNS:
            kept[concern] += recommend(analysis.seen, concern, analysis.why_k).keeps_pca
    assert min(kept.values()) >= 7


def test_a_small_group_of_the_same_kind_is_no_reason_to_act():
    # The own directions of 80 rows in 20 dimensions fit them too well: its loss is too large on the fitting rows and
    # too small on the others, which the intervals of the projection as it is do not know.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 20)) * np.linspace(2.0, 1.0, 20)
    labels = np.where(np.arange(4000) < 80, "few", "many")
    analysis = seen(sample(X, rng.permutation(labels)), ["Min-max loss"], (4,))
    fitted, judged = analysis.seen.fitted["PCA"].losses, analysis.seen.judged["PCA"].losses
    assert fitted[0] > fitted[1]
    assert judged[0] < judged[1]
    assert recommend(analysis.seen, "losses", "").keeps_pca


def test_three_groups_are_served_too_and_a_method_for_two_says_why_not():
    analysis = seen(sample(*rows()), ["Min-max loss", "u-FPCA"])
    advice = recommend(analysis.seen, "losses", analysis.why_k)
    assert advice.method == "Min-max loss"
    assert advice.figures["cheapest"] <= advice.figures["average, fitting"] + 1e-9
    other = recommend(analysis.seen, "errors", "")
    assert other.keeps_pca
    assert "exactly two groups" in other.reason[1]


def test_limits_follow_from_the_situation():
    found = sample(*rows((900, 500, 25)))
    plain = " ".join(of_attribute(found, "team", 5))
    assert "Small groups (g2)" in plain
    assert "No target was named" in plain
    assert "Columns that tell much" not in plain
    found.columns.loc[1, "proxy"] = "team"
    found.columns.loc[2, ["proxy", "used as"]] = ["team", "left out"]
    assert "(x1)" in " ".join(of_attribute(found, "team", 5))


def test_the_number_of_components_and_the_names_of_concerns():
    assert smallest_k({1: 0.5, 2: KEPT, 3: 0.9}) == 2
    assert smallest_k({1: 0.5, 2: 0.6}) == 2
    for concern in ("fairness", ["losses"]):
        with pytest.raises(ConfigurationError, match="needed is one of 'losses', 'errors', 'means'"):
            require_concern(concern)


def test_methods_that_compare_errors_have_no_answer_where_nobody_has_an_error():
    # Three numbers and a category of three towns, whose columns of zeros and ones add up to one: 5 directions vary.
    rng, n = np.random.default_rng(5), 260
    group = np.where(rng.random(n) < 0.35, "red", "blue")
    table = pd.DataFrame(rng.normal(size=(n, 3)) * [3.0, 2.0, 1.0], columns=["a", "b", "c"])
    table["a"] += 2.0 * (group == "red")
    table = table.assign(town=rng.choice(["A", "B", "C"], n), group=group)
    found = read_sample(table, sensitive="group", holdout=0.3)
    moments = found.moments("group")
    assert moments.d == 6
    for name in [name for name, method in METHODS.items() if method.equalises in ("errors", "losses")]:
        fits = fit_method(name, (2, 4, 5), moments, found.fitting_points, "group")
        assert [fit.estimator is not None for fit in fits.values()] == [True, True, False], name
        assert "vary in 5 directions only" in fits[5].reason
    assert fit_method("PCA", (5,), moments, found.fitting_points, "group")[5].estimator is not None
