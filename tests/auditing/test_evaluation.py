"""What is said of a map is what the rows say; intervals cover as often as they claim; attackers and decisions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from evenspan import LEACE, FairPCA, StandardPCA, metrics
from evenspan.auditing import attacks
from evenspan.auditing.attacks import LEAST, Attacks
from evenspan.auditing.decisions import Decisions
from evenspan.auditing.evaluation import Evaluation, Part, Row, auc_row, largest_distance, own_errors
from evenspan.auditing.sample import Points
from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.metrics.bootstrap import assign_blocks
from evenspan.metrics.linear_map import LinearMap, encoder, linear_map
from evenspan.metrics.prediction import effective_size
from evenspan.reconstruction.group_errors import group_matrices

from .tables import rows, sample

K = 2


def judged(found, estimator, part="training"):
    training = Part("training", found.blocked["training"]["team"], "team", 200, 0)
    moments = training.plain
    estimator.fit_moments(moments)
    on = training if part == "training" else Part("held out", found.blocked["held out"]["team"], "team", 200, 1)
    return Evaluation(on, linear_map(estimator), own_errors([training, on], [K])[K][1]), moments


@pytest.mark.parametrize("part", ["training", "held out"])
@pytest.mark.parametrize("estimator", [StandardPCA(K), FairPCA(K), LEACE(K)], ids=lambda e: type(e).__name__)
def test_every_linear_metric_is_that_of_the_rows(part, estimator):
    found = sample(*rows())
    judgement, moments = judged(found, estimator, part)
    points = found.points[part]
    names = points.groups["team"].to_numpy()
    T = (points.X - estimator.mean_) @ estimator.components_.T
    residuals = ((points.X - estimator.mean_ - T @ estimator.subspace_.V.T) ** 2).sum(axis=1)
    values = {(row.metric, row.group): row.value for row in judgement.rows()}
    expected, errors, losses, means = {}, [], [], []
    for label, V in zip(judgement.part.labels, group_matrices(moments), strict=True):
        V, mine = top_eigenspace(V, K)[1], names == label
        centred = points.X[mine] - moments.mean
        errors.append(residuals[mine].mean(axis=0))
        losses.append(errors[-1] - ((centred - centred @ V @ V.T) ** 2).sum(axis=1).mean(axis=0))
        means.append(T[mine].mean(axis=0))
        total = (centred**2).sum(axis=1).mean(axis=0)
        expected |= {("error", label): errors[-1], ("loss", label): losses[-1]}
        expected |= {("explained share", label): 1.0 - errors[-1] / total}
    expected |= {("worst error", ""): max(errors), ("error gap", ""): np.ptp(errors)}
    expected |= {("worst loss", ""): max(losses), ("loss gap", ""): np.ptp(losses)}
    expected |= {("mean distance", ""): max(np.linalg.norm(a - b) for a in means for b in means)}
    expected |= {("average error", ""): residuals.mean(axis=0)}
    expected |= {("retained variance", ""): T.var(axis=0).sum(axis=0) / points.X.var(axis=0).sum(axis=0)}
    spread = np.sqrt(T.var(axis=0).mean(axis=0))
    expected |= {("scaled mean distance", ""): expected["mean distance", ""] / spread}
    assert values.keys() == expected.keys()
    np.testing.assert_allclose([values[key] for key in expected], list(expected.values()), rtol=1e-8, atol=1e-10)
    for metric in ("average error", "error gap", "scaled mean distance"):  # what is compared in pairs
        value, drawn = judgement.statistic(metric)
        assert np.isclose(value, values[metric, ""], rtol=1e-9, atol=1e-12)
        assert value < 1e-9 or abs(drawn.mean(axis=0) - value) < value


def test_intervals_of_the_gap_cover_the_truth():
    # Gaussian groups and a fixed direction: the true gap is known. If 95 % hold, 275 to 295 of 300 tables do so with
    # probability 0.99; blocks make the intervals a little too short, hence the lower end of the band.
    rng, hits, empty = np.random.default_rng(2024), 0, 0
    scales = np.array([[2.0, 1.0, 1.0], [1.0, 1.4, 1.2]])
    V = np.eye(3)[:, :1]
    truth = abs((scales[0, 1:] ** 2).sum() - (scales[1, 1:] ** 2).sum())
    for _ in range(300):
        codes = (rng.random(400) < 0.35).astype(int)
        X = rng.normal(size=(400, 3)) * scales[codes]
        for fair in (False, True):  # the control: groups that do not differ
            Y = X / scales[codes] if fair else X
            blocks = pd.DataFrame({"block": assign_blocks(400, 40, rng), "team": np.array(["a", "b"])[codes]})
            part = Part("held out", GroupMoments.from_data(Y, blocks), "team", 400, rng)
            judgement = Evaluation(part, LinearMap(V, V, np.zeros(3)))
            gap = next(row for row in judgement.rows() if row.metric == "error gap")
            if fair:
                empty += gap.value <= gap.noise_q95
                assert (gap.low == 0.0) == (gap.value <= gap.noise_q95)
            else:
                hits += gap.low <= truth <= gap.high
    assert 272 <= hits <= 295
    assert 272 <= empty <= 296


def test_a_group_of_a_few_rows_hides_no_gap_between_two_others():
    rng = np.random.default_rng(5)
    labels = np.array(["a"] * 1500 + ["b"] * 1200 + ["few"] * 12)
    X = rng.normal(size=(len(labels), 3)) + 0.25 * (labels == "b")[:, None]
    X[labels == "b", 2] *= 1.6
    part = Part("held out", sample(X, labels, held=0.0).blocked["training"]["team"], "team", 400, 1)
    V = np.eye(3)[:, :2]
    judgement = Evaluation(part, LinearMap(V, V, X.mean(axis=0)))
    found = {row.metric: row for row in judgement.rows() if not row.group}
    for metric in ("mean distance", "error gap"):
        assert found[metric].low > 0
        assert found[metric].value > found[metric].noise_q95
    # The noise of the small group alone would have hidden the distance of the others.
    noise = np.quantile(largest_distance(judgement.drawn_means - judgement.means), 0.95)
    assert found["mean distance"].value - found["mean distance"].low < noise
    assert noise > found["mean distance"].value


def read(found, kind="linear"):
    """What attackers of the held-out points find under PCA, and the map that they read."""
    answer = linear_map(StandardPCA(K).fit_moments(found.moments("team")))
    (rows,) = Attacks(found.points, "team", 0).rows([answer])
    return answer, rows, [row for row in rows if row.metric == f"{kind} AUC"]


@pytest.mark.parametrize("sizes", [(900, 500), (900, 500, 300)], ids=["two groups", "three groups"])
def test_the_strongest_attacker_is_that_of_the_judge(sizes):
    found = sample(*rows(sizes))
    seen, every, linear = read(found)
    parts = [
        (found.points[p].X @ encoder(seen), found.points[p].groups["team"].to_numpy())
        for p in ("validation", "held out")
    ]
    areas, strongest = metrics.attack(*parts), every[-1]
    for name, area in areas.items():  # the same rows in another order
        assert np.isclose(
            next(row for row in every if row.metric == f"{name} AUC" and not row.group).value, area, atol=0.02
        )
    assert strongest.metric == "group AUC"
    assert strongest.value == max(row.value for row in every[:-1])
    assert strongest.high == max(row.high for row in every[:-1])
    assert f"Strongest attacker: {max(areas, key=areas.get)}" in strongest.note
    assert strongest.value > strongest.noise_q95 + 0.02
    assert [row.group for row in linear] == (["g0", "g1", "g2", ""] if len(sizes) == 3 else [""])
    assert linear[-1].value == max(one.value for one in linear)


def test_trees_find_what_a_linear_attacker_does_not_and_nobody_finds_what_is_not_there():
    """Equal means, unequal spread: only the linear one guesses. The control: groups dealt at random, many times."""
    rng, beyond = np.random.default_rng(0), 0
    labels = np.repeat(["a", "b"], 900)
    X = rng.normal(size=(1800, 4)) * np.where(labels == "a", 1.0, 2.0)[:, None]
    found = {row.metric: row for row in read(sample(X, labels))[1]}
    assert found["linear AUC"].value < found["linear AUC"].noise_q95 < 0.75 < found["group AUC"].value
    for seed in range(20):
        strongest = read(sample(X, rng.permutation(labels), seed=seed))[1][-1]
        beyond += strongest.value > strongest.noise_q95
        assert strongest.low < 0.5 < strongest.high
    assert beyond <= 3  # one in twenty is expected at most; four or more have a probability of .016


def test_a_group_of_a_few_rows_is_not_read_and_that_is_said():
    linear = read(sample(*rows((900, 500, LEAST))))[2]
    assert [row.group for row in linear] == ["g0", "g1", ""]
    assert "g2" in linear[-1].note


def decide(X, labels, y, estimator):
    found = sample(X, labels, y=y)
    answer = linear_map(estimator.fit_moments(found.moments("team")))
    decisions = Decisions(found.points["training"], found.points["held out"], "team", 0)
    return {(row.metric, row.group): row for row in decisions.rows(answer)}, found, answer


def test_rates_of_one_classifier_are_those_of_its_predictions():
    X, labels = rows((900, 500))
    y = np.where(X[:, 0] + np.random.default_rng(0).normal(size=len(X)) > 0.3, "yes", "no")
    here, found, answer = decide(X, labels, y, StandardPCA(4))
    E, F = (part.X @ encoder(answer) for part in (found.points["training"], found.points["held out"]))
    model = LogisticRegression(max_iter=10_000).fit(E - E.mean(axis=0), found.points["training"].y)
    chosen, scores = model.predict(F - E.mean(axis=0)) == "yes", model.decision_function(F - E.mean(axis=0))
    truth, groups = found.points["held out"].y == "yes", found.points["held out"].groups["team"].to_numpy()
    for group in ("", "g0", "g1"):
        inside = np.full(len(truth), True) if not group else groups == group
        expected = {
            "selection rate": chosen[inside].mean(), "false positive rate": chosen[inside & ~truth].mean(),
            "false negative rate": 1.0 - chosen[inside & truth].mean(),
            "target accuracy": (chosen == truth)[inside].mean(),
            "target AUC": metrics.auc(truth[inside], scores[inside]),
        }  # fmt: skip
        for metric, value in expected.items():
            assert np.isclose(here[metric, group].value, value, atol=2e-3), (metric, group)
            assert here[metric, group].low < value < here[metric, group].high
    assert here["target AUC", ""].value > 0.6
    # The control: a target that has nothing to do with the rows.
    noise = decide(X, labels, np.random.default_rng(1).permutation(y), StandardPCA(4))[0]["target AUC", ""]
    assert noise.low < 0.5 < noise.high


def test_a_target_that_is_a_number_or_has_three_values_has_no_rates():
    X, labels = rows((900, 500))
    number = X[:, 0] + np.random.default_rng(0).normal(size=len(X)) + 5.0
    here, found, answer = decide(X, labels, number, StandardPCA(4))
    E, F = (part.X @ encoder(answer) for part in (found.points["training"], found.points["held out"]))
    share = LinearRegression().fit(E, found.points["training"].y).score(F, found.points["held out"].y)
    assert np.isclose(here["target R2", ""].value, share, rtol=1e-9)
    assert here["target R2", ""].low < share < here["target R2", ""].high
    assert {metric for metric, _ in here} == {"target R2"}
    three = decide(X, labels, np.array(["a", "b", "c"])[np.digitize(number, [4.0, 6.0])], StandardPCA(4))[0]
    assert set(three) == {("target accuracy", group) for group in ("", "g0", "g1")}
    few = decide(X, labels, np.where(np.arange(len(X)) < 905, "no", "yes"), StandardPCA(4))[0]
    assert ("target AUC", "g0") not in few


AS_IT_IS = LinearMap(np.eye(3), np.eye(3), np.zeros(3))


def test_all_areas_of_groups_and_attackers_are_simultaneous(monkeypatch):
    heard, highs, values = [], iter(np.linspace(0.99, 0.85, 15)), iter(np.linspace(0.6, 0.8, 15))

    def area(metric, member, scores, w, group, tests):
        heard.append(tests)
        return Row(metric, next(values), 0.5, next(highs), 0.55, group)

    monkeypatch.setattr(attacks, "auc_row", area)
    X, labels = rows((200, 200, 200), d=3)
    best = Attacks(sample(X, labels).points, "team", 0).rows([AS_IT_IS])[0][-1]
    assert (heard, best.value, best.high) == ([15] * 15, 0.8, 0.99)


def test_attackers_for_the_choice_never_see_held_out_rows():
    X, labels = rows((200, 200), d=3)
    points, found = sample(X, labels).points, []
    held = points["held out"]
    for shift in (0.0, 5.0):
        moved = Points(held.X + shift * (held.groups == "g0").to_numpy(), held.groups, w=held.w)
        (every,) = Attacks(points | {"held out": moved}, "team", 0).rows([AS_IT_IS], "validation")
        found.append([one.value for one in every])
    assert len(found[0]) == 6
    assert found[0] == found[1]


def test_attackers_for_the_choice_are_scored_on_rows_they_were_not_fitted_to():
    X, labels = np.random.default_rng(2).normal(size=(900, 3)), np.tile(["g0", "g1"], 450)  # nothing is to be found
    (every,) = Attacks(sample(X, labels).points, "team", 0).rows([AS_IT_IS], "validation")
    assert every[-1].metric == "group AUC"
    assert every[-1].value < 0.65  # trees find nearly all of the rows that they were fitted to


def test_null_quantiles_and_intervals_of_shares_count_effective_rows():
    member, scores = np.arange(400) % 2 == 0, np.random.default_rng(0).normal(size=400)
    w = np.where(np.arange(400) % 20 < 2, 50.0, 1.0)
    m, n = effective_size(w[member]), effective_size(w[~member])
    null = 0.5 + 1.6448536 * np.sqrt((m + n + 1) / (12 * m * n))
    assert auc_row("AUC", member, scores, w).noise_q95 == pytest.approx(null)
    X, labels = rows((300, 300), d=3)
    points = sample(X, labels, y=np.where(X[:, 0] > 0.3, "yes", "no")).points
    held = points["held out"]
    widths = []
    for v in (np.where(np.arange(len(held.X)) % 20 == 0, 30.0, 1.0), np.ones(len(held.X))):
        scored = Points(held.X, held.groups, held.y, v)
        every = Decisions(points["training"], scored, "team", 0).rows(AS_IT_IS)
        widths.append({one.metric: one.high - one.low for one in every if not one.group})
    for metric in ("target accuracy", "selection rate"):
        assert widths[0][metric] > 1.5 * widths[1][metric]
