"""Three questions, each with its own answer: what is recommended after a significant effect, and what never is."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from evenspan.auditing.analyse import Analysis, _components, analyse
from evenspan.auditing.evaluation import COLUMNS
from evenspan.auditing.fitting import chosen_methods
from evenspan.auditing.recommend import CONCERNS, ask_target, recommend
from evenspan.auditing.sample import silent
from evenspan.core.answer import Certificate
from evenspan.core.moments import GroupMoments

from .tables import rows, sample


def seen(found, methods=None, sizes=(2,)):
    names = chosen_methods(methods, [len(found.moments("team").labels)])
    return analyse(found, "team", sizes, names, 200, 0, silent)


NOISE = np.random.default_rng(0).normal(size=400)


def given(values, *, null=0.1, average=None, noise=0.01, kept=None, enough=True, target=None):
    """An analysis of methods with these effects, on both parts of the rows: they vary alike but for a little noise."""
    rng, held_out, fits, lines = np.random.default_rng(1), {}, {}, []
    for name, value in values.items():
        price = (average or {}).get(name, 1.0)
        own = {"average error": (price, price + noise * rng.normal(size=400))}
        drawn = (value, value + NOISE + noise * rng.normal(size=400))
        held_out[name] = SimpleNamespace(
            part=SimpleNamespace(labels=["a", "b"]), average=price, errors=np.array([2.0, 1.0]) * price,
            statistic=lambda metric, own=own, drawn=drawn: own.get(metric, drawn),
        )  # fmt: skip
        fits[name, 2] = SimpleNamespace(estimator=SimpleNamespace(certificate_=Certificate("p", 1.0, 1.0)), note="")
        numbers = [("", what.effect, value, value - noise, value + noise) for what in CONCERNS.values()]
        numbers += [("", "average error", price, price, price)]
        numbers += [("", "retained variance", *3 * ((kept or {}).get(name, 0.8),))]
        area = (target or {}).get(name, 0.8)
        numbers += [
            (group, "target AUC", *3 * (area + more,)) for group, more in (("", 0.0), ("a", 0.02), ("b", -0.05))
        ]
        lines += [("team", 2, name, part, *one, null, "") for part in ("validation", "held out") for one in numbers]
    rows, evaluations = pd.DataFrame(lines, columns=COLUMNS), {"validation": held_out, "held out": held_out}
    return Analysis("team", rows, fits, 2, "why k", 0.8, enough, evaluations, None, "", {})


def by_parts(validation, held_out):
    """An analysis whose validation and held-out rows say different things."""
    rows = [one.rows[one.rows["part"] == part] for one, part in ((validation, "validation"), (held_out, "held out"))]
    evaluations = {"validation": validation.evaluations["validation"], "held out": held_out.evaluations["held out"]}
    return replace(held_out, rows=pd.concat(rows), evaluations=evaluations)


@pytest.mark.parametrize(
    ("concern", "method", "said", "what"),
    [
        # The smallest effect, and of those that do not differ from it the one of the least average error.
        ("errors", "u-FPCA", "brings the error gap", given({"PCA": 2.0, "u-FPCA": 0.5, "c-FPCA": 1.0})),
        ("errors", "c-FPCA", "Not significantly worse", given({"PCA": 2.0, "u-FPCA": 0.5, "c-FPCA": 0.501},
                                                     average={"u-FPCA": 1.5, "c-FPCA": 1.2})),
        ("means", "Fair PCA", "still significant", given({"PCA": 2.0, "u-FPCA": 0.1, "Fair PCA": 0.5})),
        ("classification", "LEACE", "group AUC", given({"PCA": 0.9, "LEACE": 0.6, "u-FPCA": 0.5}, null=0.55)),
        # An effect that is shown, and needs no method.
        ("errors", "PCA", "below 0.02", given({"PCA": 0.019, "u-FPCA": 0.001}, null=0.001)),
        ("classification", "PCA", "below 0.55", given({"PCA": 0.54, "LEACE": 0.5}, null=0.52)),
        # Nothing to recommend: no effect shown, none that helps, none made for it.
        ("errors", "", "no difference and rule out none", given({"PCA": 2.0, "u-FPCA": 0.5}, null=2.5)),
        ("errors", "", "No method improves on PCA", given({"PCA": 2.0, "u-FPCA": 1.9}, noise=1.0)),
        ("classification", "", "No method improves", given({"PCA": 0.9, "LEACE": 0.85}, null=0.6, noise=0.2)),
        ("errors", "", "none was asked for", given({"PCA": 2.0, "Fair PCA": 0.1})),
        # Too dear, or too few components to say anything.
        ("means", "", "worth its price", given({"PCA": 2.0, "Fair PCA": 0.1}, kept={"Fair PCA": 0.39})),
        ("means", "Fair PCA", "still", given({"PCA": 2.0, "Fair PCA": 0.5}, kept={"Fair PCA": 0.41})),
        ("means", "", "worth its price", given({"PCA": 2.0, "Fair PCA": 0.1}, target={"Fair PCA": 0.64})),
        ("means", "", "is too small", given({"PCA": 2.0, "Fair PCA": 0.1}, enough=False)),
        # Chosen on validation rows, whatever held-out rows say.
        ("means", "LEACE", "still", by_parts(given({"PCA": 2.0, "Fair PCA": 0.5, "LEACE": 0.2}),
                                            given({"PCA": 2.0, "Fair PCA": 0.2, "LEACE": 0.5}))),
    ],
)  # fmt: skip
def test_the_rule(concern, method, said, what):
    answer = recommend(what, concern)
    assert (answer.method, said in " ".join(answer.reason)) == (method, True), answer.reason
    effect = what.row(CONCERNS[concern].effect)
    assert answer.significant == (effect["value"] > effect["noise_q95"])
    assert answer.verdict in answer.sentence
    assert answer.reason[-1] == "why k" or answer.too_small
    if not answer.significant:
        assert "PCA" not in answer.advice + " ".join(answer.reason)
    if method not in ("", "PCA"):
        assert answer.figures["after"] == what.row(CONCERNS[concern].effect, method)["value"]
        for metric, group in (("retained variance", ""), ("target AUC", ""), ("target AUC", "b")):
            names = [f"{metric} {when}{group and ', b'}" for when in ("before", "after")]
            lines = [what.row(metric, name, group=group) for name in ("PCA", method)]
            assert [answer.figures[name] for name in names] == [line["value"] for line in lines]
        assert "target AUC" in answer.sentence


@pytest.mark.parametrize(("scope", "reached", "said"), [
    ("whole problem", 1.0, "certified optimal"), ("bound", 1.0, "certified optimal"), ("bound", 0.5, "at most 50.0%"),
    ("last step", 1.0, "about its last step alone"),
])  # fmt: skip
def test_a_last_step_is_not_called_certified(scope, reached, said):
    what = given({"PCA": 2.0, "u-FPCA": 0.5})
    what.fits["u-FPCA", 2].estimator.certificate_ = Certificate("p", reached, 1.0, scope=scope)
    reason = " ".join(recommend(what, "errors").reason)
    assert said in reason
    assert ("certified" in reason) == (said == "certified optimal")


def test_one_answer_is_not_the_answer_to_all():
    # Same spread, means apart: errors are inconclusive, the group can be predicted nevertheless. The control: groups
    # that are dealt at random (by chance alone one of twenty effects is significant).
    labels = np.repeat(["a", "b"], [700, 500])
    X = np.random.default_rng(0).normal(size=(1200, 5))
    for shift, told in ((2, ["significant", "inconclusive", "significant"]), (0, ["inconclusive"] * 3)):
        analysis = seen(sample(X + [shift, 0, 0, 0, 0] * (labels == "b")[:, None], labels), ["u-FPCA", "Fair PCA"])
        assert [recommend(analysis, concern).verdict for concern in CONCERNS] == told


def test_losses_need_ten_rows_a_feature():
    # The own directions of 80 rows in 20 dimensions fit them too well: such losses are noise, and are not given.
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(4000, 20)), np.where(np.arange(4000) < 80, "few", "many")
    for names, given in ((labels, False), (np.where(np.arange(4000) < 900, "few", "many"), True)):
        analysis = seen(sample(X, names), ["Min-max loss"], (4,))
        assert (analysis.row("worst loss") is not None) == given
        assert ("few has 35 training rows for 20 features" in analysis.losses) == (not given)
        assert ("worst loss" in analysis.frontier.curves) == given


def test_price_and_choice_look_at_their_own_part():
    alone, low = {"PCA": 2.0, "Fair PCA": 0.5}, {"Fair PCA": 0.3}
    for noisy, quiet, said in ((2.5, 0.1, "significant"), (0.1, 2.5, "inconclusive")):
        assert recommend(by_parts(given(alone, null=noisy), given(alone, null=quiet)), "means").verdict == said
    for worse in ({"kept": low}, {"target": {"Fair PCA": 0.6}}):
        assert recommend(by_parts(given(alone), given(alone, **worse)), "means").method == "Fair PCA"
        assert recommend(by_parts(given(alone, **worse), given(alone)), "means").method == ""
    two = {"PCA": 2.0, "Fair PCA": 0.5, "LEACE": 0.501}
    dear, cheap = ({"Fair PCA": one, "LEACE": 1.2} for one in (1.5, 1.1))
    assert recommend(by_parts(given(two, average=dear), given(two, average=cheap)), "means").method == "LEACE"
    good, bad = {"PCA": 0.9, "LEACE": 0.6}, {"PCA": 0.9, "LEACE": 0.89}
    assert recommend(by_parts(given(good), given(bad)), "classification").method == "LEACE"
    assert recommend(by_parts(given(bad), given(good)), "classification").method == ""


def test_lost_predictions_and_rates_that_change_places_are_told():
    def told(rates, area=0.8):
        what = given({"PCA": 2.0, "Fair PCA": 0.5}, target={"Fair PCA": area})
        wide = what.rows.assign(
            low=what.rows["value"].where(what.rows["metric"] == "target AUC", what.rows["low"] + 0.05) - 0.05,
            high=what.rows["value"].where(what.rows["metric"] == "target AUC", what.rows["high"] - 0.05) + 0.05,
        )
        more = [("team", 2, m, "held out", g, "selection rate", *3 * (r,), 0.0, "") for (m, g), r in rates.items()]
        more += [("team", 2, m, "held out", "", "target accuracy", *3 * (0.7,), 0.0, "") for m in ("PCA", "Fair PCA")]
        rows = pd.concat([wide, pd.DataFrame(more, columns=COLUMNS)])
        return " ".join(recommend(replace(what, rows=rows), "means").price)

    names = [(m, g) for m in ("PCA", "Fair PCA") for g in "ab"]
    changed = told(dict(zip(names, (0.6, 0.4, 0.3, 0.5), strict=True)))
    assert "change places: a 60% to 30%, b 40% to 50%" in changed
    assert told(dict(zip(names, (0.6, 0.4, 0.5, 0.45), strict=True))) == ""
    assert told({}, 0.74) == told({}, 0.9) == ""  # a loss of 0.06, where 0.0707 is noise, and a gain
    assert "target AUC of all rows 0.800 to 0.720" in told({}, 0.72)


def test_the_price_is_that_of_held_out_rows():
    X, labels = rows((300, 300), d=3)
    found = sample(X, labels, y=np.where(X[:, 0] > 0.3, "yes", "no"))
    held = found.points["held out"]
    held.y[:] = np.where(held.X[:, 0] > 0.3, "no", "yes")  # turned round
    assert seen(found, ["Fair PCA"]).row("target accuracy")["value"] < 0.5


def test_k_is_looked_for_up_to_the_number_of_features():
    X = np.random.default_rng(0).normal(size=(900, 20))
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    share = np.cumsum(values) / values.sum(axis=0)
    k, _, retained = _components(GroupMoments.from_data(X, np.repeat(["a", "b"], 450)), None)
    assert (k, retained) == (1 + int(np.argmax(share >= 0.8)), pytest.approx(share[k - 1]))
    assert k > 10


def test_a_likely_target_is_asked_for_and_a_status_of_people_is_not():
    def asked(*names, target=None):
        columns = pd.DataFrame({"column": names, "used as": "number"})
        return ask_target(SimpleNamespace(columns=columns, target=target))

    for name in ("hired", "loan_status", "credit-risk", "Y", "class", "final result"):
        assert f"Is {name!r} what is to be predicted?" in asked("age", name, "marital-status")
        assert asked("age", name, target="age") == ""
    for name in ("marital-status", "employment_status", "passenger class", "travel-class", "years", "final weight"):
        assert asked("age", name) == ""


def test_attackers_are_cross_fitted_where_a_choice_is_open_only():
    labels = np.repeat(["a", "b"], [700, 500])
    X = np.random.default_rng(0).normal(size=(1200, 5))
    for shift, choice, seen_there in ((2, True, True), (2, False, False), (0, True, False)):
        found = sample(X + [shift, 0, 0, 0, 0] * (labels == "b")[:, None], labels)
        names = chosen_methods(["Fair PCA", "u-FPCA"], [2])
        rows = analyse(found, "team", (2,), names, 40, 0, silent, choice).rows
        where = rows[rows["metric"] == "group AUC"].groupby("part")["method"].agg(list).to_dict()
        validation = {"validation": ["PCA", "Fair PCA"]} if seen_there else {}
        assert where == {"held out": ["PCA", "Fair PCA", "u-FPCA"]} | validation
