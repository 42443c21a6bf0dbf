"""Three questions, each with its own answer: what is recommended after a significant effect, and what never is."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from evenspan.auditing.analyse import Analysis, analyse
from evenspan.auditing.evaluation import COLUMNS
from evenspan.auditing.fitting import chosen_methods
from evenspan.auditing.progress import Progress
from evenspan.auditing.recommend import CONCERNS, ask_target, recommend, require_concern
from evenspan.core.answer import Certificate
from evenspan.core.errors import ConfigurationError
from evenspan.methods import METHODS

from .tables import rows, sample


def seen(found, methods=None, sizes=(2,)):
    names = chosen_methods(methods, [len(found.moments("team").labels)])
    return analyse(found, "team", sizes, names, 200, 0, Progress())


# -- the rule on numbers that are given --------------------------------------------------------------------------------

NOISE = np.random.default_rng(0).normal(size=400)


def given(values, *, null=0.1, average=None, noise=0.01):
    """An analysis of methods with these effects, on held-out rows: they vary alike but for a little noise."""
    rng, held_out, fits, lines = np.random.default_rng(1), {}, {}, []
    for name, value in values.items():
        price = (average or {}).get(name, 1.0)
        own = {"average error": (price, price + noise * rng.normal(size=400))}
        drawn = (value, value + NOISE + noise * rng.normal(size=400))
        held_out[name] = SimpleNamespace(
            part=SimpleNamespace(labels=["a", "b"]), average=price, errors=np.array([2.0, 1.0]) * price,
            statistic=lambda metric, own=own, drawn=drawn: own.get(metric, drawn),
        )  # fmt: skip
        components = np.eye(2)
        estimator = SimpleNamespace(
            certificate_=Certificate("p", 1.0, 1.0), components_=components, subspace_=SimpleNamespace(V=components)
        )
        fits[name, 2] = SimpleNamespace(estimator=estimator, note="")
        for metric in [what.effect for what in CONCERNS.values()]:
            lines.append(
                ("team", 2, name, "held out", "", metric, value, value - noise, value + noise, null, np.nan, "")
            )
        lines.append(("team", 2, name, "held out", "", "average error", price, price, price, np.nan, np.nan, ""))
        lines.append(("team", 2, name, "held out", "", "retained variance", 0.8, 0.7, 0.9, np.nan, np.nan, ""))
        for group, auc in (("", value / 4), ("a", value / 5), ("b", value / 3)):
            lines.append(("team", 2, name, "held out", group, "target AUC", auc, auc, auc, np.nan, np.nan, ""))
    return Analysis("team", pd.DataFrame(lines, columns=COLUMNS), fits, 2, "why k", held_out, None, "", {})


@pytest.mark.parametrize(
    ("concern", "method", "said", "what"),
    [
        # The smallest effect, and of those that do not differ from it the one of the least average error.
        ("errors", "u-FPCA", "brings the error gap", given({"PCA": 2.0, "u-FPCA": 0.5, "c-FPCA": 1.0})),
        ("errors", "c-FPCA", "Not significantly worse", given({"PCA": 2.0, "u-FPCA": 0.5, "c-FPCA": 0.501},
                                                     average={"u-FPCA": 1.5, "c-FPCA": 1.2})),
        ("errors", "Min-max loss", "not significant", given({"PCA": 2.0, "Min-max loss": 0.05, "u-FPCA": 0.9})),
        ("means", "Fair PCA", "still significant", given({"PCA": 2.0, "u-FPCA": 0.1, "Fair PCA": 0.5})),
        ("classification", "LEACE", "group AUC", given({"PCA": 0.9, "LEACE": 0.6, "u-FPCA": 0.5}, null=0.55)),
        # An effect that is shown, and needs no method.
        ("errors", "PCA", "below 0.02", given({"PCA": 0.019, "u-FPCA": 0.001}, null=0.001)),
        ("means", "PCA", "below 0.1", given({"PCA": 0.09, "Fair PCA": 0.001}, null=0.001)),
        ("classification", "PCA", "below 0.55", given({"PCA": 0.54, "LEACE": 0.5}, null=0.52)),
        # Nothing to recommend: no effect shown, none that helps, none made for it.
        ("errors", "", "no difference and rule out none", given({"PCA": 2.0, "u-FPCA": 0.5}, null=2.5)),
        ("means", "", "no difference and rule out none", given({"PCA": 2.0, "Fair PCA": 0.5}, null=2.5)),
        ("classification", "", "no difference and rule out none", given({"PCA": 0.6, "LEACE": 0.5}, null=0.65)),
        ("errors", "", "No method improves on PCA", given({"PCA": 2.0, "u-FPCA": 1.9}, noise=1.0)),
        ("classification", "", "No method improves", given({"PCA": 0.9, "LEACE": 0.85}, null=0.6, noise=0.2)),
        ("errors", "", "none was asked for", given({"PCA": 2.0, "Fair PCA": 0.1})),
    ],
)  # fmt: skip
def test_the_rule(concern, method, said, what):
    answer = recommend(what, concern)
    assert (answer.method, said in " ".join(answer.reason)) == (method, True), answer.reason
    effect = what.row("PCA", CONCERNS[concern].effect)
    assert answer.significant == (effect["value"] > effect["noise_q95"])
    assert answer.verdict in answer.sentence
    assert answer.reason[-1] == "why k"
    if not answer.significant:
        assert "PCA" not in answer.advice + " ".join(answer.reason)
    if method not in ("", "PCA"):
        assert answer.figures["after"] == what.row(method, CONCERNS[concern].effect)["value"]
        for metric, group in (("retained variance", ""), ("target AUC", ""), ("target AUC", "b")):
            names = [f"{metric} {when}{group and ', b'}" for when in ("before", "after")]
            lines = [what.row(name, metric, group=group) for name in ("PCA", method)]
            assert [answer.figures[name] for name in names] == [line["value"] for line in lines]
        assert "target AUC" in answer.sentence


# -- the rule on samples ----------------------------------------------------------------------------------------------


def test_differences_that_are_there_are_reduced_by_a_method_made_for_them():
    analysis = seen(sample(*rows((6000, 4000), d=5)), sizes=(1, 2))
    for concern, what in CONCERNS.items():
        answer = recommend(analysis, concern)
        assert METHODS[answer.method].equalises in what.equalises
        assert answer.figures["effect"] > answer.figures["noise_q95"]
        assert answer.figures["after"] - (concern == "classification") * 0.5 < 0.7 * answer.figures["effect"]


def test_groups_that_mean_nothing_are_inconclusive():
    # The groups of the two tables are dealt at random; by chance alone one of twenty effects is significant, and a
    # method then has to beat PCA by more than chance as well.
    X, labels = rows((600, 360), d=5)
    nothing = dict.fromkeys(CONCERNS, 0)
    for seed in range(8):
        shuffled = np.random.default_rng(seed).permutation(labels)
        analysis = seen(sample(X, shuffled, seed=seed), ["u-FPCA", "Fair PCA"])
        for concern in CONCERNS:
            nothing[concern] += not recommend(analysis, concern).significant
    assert min(nothing.values()) >= 7


def test_one_answer_is_not_the_answer_to_all():
    # Same spread, means apart: errors are inconclusive, the group can be predicted nevertheless.
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b"], [700, 500])
    analysis = seen(sample(rng.normal(size=(1200, 5)) + [2, 0, 0, 0, 0] * (labels == "b")[:, None], labels))
    verdicts = {concern: recommend(analysis, concern).verdict for concern in CONCERNS}
    assert verdicts == {"means": "significant", "errors": "inconclusive", "classification": "significant"}


def test_losses_need_ten_rows_a_feature():
    # The own directions of 80 rows in 20 dimensions fit them too well: such losses are noise, and are not given.
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(4000, 20)), np.where(np.arange(4000) < 80, "few", "many")
    for names, given in ((labels, False), (np.where(np.arange(4000) < 900, "few", "many"), True)):
        analysis = seen(sample(X, names), ["Min-max loss"], (4,))
        assert (analysis.row("PCA", "worst loss") is not None) == given
        assert ("few has 49 training rows for 20 features" in analysis.losses) == (not given)
        assert ("worst loss" in analysis.frontier.curves) == given


def test_a_method_that_discards_variance_is_not_better_for_it():
    analysis = seen(sample(*rows((900, 500), d=5)), ["Fair PCA"])
    evaluation = analysis.held_out["PCA"]
    value, drawn = evaluation.statistic("scaled mean distance")
    for one in (evaluation.sums.firsts, evaluation.means, evaluation.drawn_means):
        one *= 0.1
    evaluation.sums.squares[...] *= 0.01
    again, drawn_again = evaluation.statistic("scaled mean distance")
    assert np.isclose(value, again)
    np.testing.assert_allclose(drawn, drawn_again)


def test_the_target_is_asked_for_where_a_column_may_be_one():
    found = sample(*rows((900, 500)))
    assert ask_target(found) == ""
    found.columns.loc[0, "column"] = "loan_default"
    assert "'loan_default'" in ask_target(found)
    assert ask_target(sample(*rows(), y=rows()[1])) == ""
    assert require_concern("all") == tuple(CONCERNS)
    for concern in ("losses", ["means"]):
        with pytest.raises(ConfigurationError, match="needed is one of 'means', 'errors', 'classification', 'all'"):
            require_concern(concern)
