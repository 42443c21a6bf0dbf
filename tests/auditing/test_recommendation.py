"""The rule of the recommendation: what is mended, what is left alone, and the sentences that say why."""

import numpy as np
import pytest

from evenspan.auditing.analyse import analyse, kept_groups
from evenspan.auditing.fitting import QUICK, chosen_methods
from evenspan.auditing.progress import Progress
from evenspan.auditing.recommend import CONCERNS, KEPT, SMALL, of_attribute, recommend, require_concern, smallest_k
from evenspan.core.errors import ConfigurationError

from .tables import rows, sample


def seen(found, methods=None, sizes=(2,), n_boot=200):
    groups = len(found.moments("team").labels)
    names = chosen_methods(methods, [groups])
    return analyse(kept_groups(found, "team"), sizes, names, len(sizes) == 1, n_boot, 0, Progress())


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
    assert advice.method in text
    assert "95 % interval" in text
    assert "certificate" in text
    assert "The price" in text
    assert ("every projection" in text) == (concern != "means")
    assert f"{advice.figures['before']:,.3g}" in text
    assert advice.limits


def test_a_meaningless_column_leads_to_keeping_pca():
    # The groups of the two tables are dealt at random; by chance alone one of twenty gaps is told from zero, and a
    # method then has to beat PCA by more than chance as well.
    X, labels = rows((1500, 900), d=5)
    kept = dict.fromkeys(CONCERNS, 0)
    for seed in range(8):
        shuffled = np.random.default_rng(seed).permutation(labels)
        analysis = seen(sample(X, shuffled, seed=seed), ["Min-max loss", "u-FPCA", "Fair PCA"])
        for concern in CONCERNS:
            advice = recommend(analysis.seen, concern, analysis.why_k)
            kept[concern] += advice.keeps_pca
            assert not advice.keeps_pca or "keep PCA" in advice.reason[1]
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


def test_a_gap_that_is_told_from_zero_but_small_is_left_alone():
    rng = np.random.default_rng(0)
    # What is left out is 1 or -1 in one group and a little more in the other: its squares hardly vary.
    X = np.hstack([rng.normal(size=(8000, 2)) * [6.0, 5.0], rng.choice([-1.0, 1.0], size=(8000, 2))])
    labels = np.where(np.arange(8000) < 4000, "a", "b")
    X[4000:, 2:] *= 1.0 + 0.4 * SMALL
    advice = recommend(seen(sample(X, labels), ["u-FPCA"]).seen, "errors", "")
    assert advice.figures["gap"] > advice.figures["chance"]
    assert advice.keeps_pca
    assert "acts from" in advice.reason[1]


def test_without_a_method_made_for_it_pca_is_what_is_left(two):
    found = sample(*rows((1500, 900), d=5))
    advice = recommend(seen(found, ["Fair PCA"]).seen, "errors", "")
    assert advice.keeps_pca
    assert "None of the methods that were asked for" in advice.reason[1]
    three = recommend(seen(sample(*rows()), ["u-FPCA"]).seen, "errors", "")
    assert three.keeps_pca
    assert "exactly two groups" in three.reason[1]


def test_three_groups_are_served_by_weights_and_say_so():
    analysis = seen(sample(*rows()))
    advice = recommend(analysis.seen, "losses", analysis.why_k)
    assert advice.method == "Min-max loss"
    assert "Solved by multiplicative weights." in analysis.fits["Min-max loss", 2].note
    assert advice.figures["cheapest"] <= advice.figures["average, fitting"] + 1e-9


def test_in_sample_only_is_said():
    found = sample(*rows((900, 500)), held=0.0)
    analysis = seen(found)
    assert not analysis.held_out
    advice = recommend(analysis.seen, "losses", "", of_attribute(found, "team", 3, analysis.held_out))
    assert "on the rows it was fitted to" in advice.reason[0]
    assert any("Nothing was held out" in sentence for sentence in advice.limits)


def test_limits_follow_from_the_situation():
    X, labels = rows((900, 500, 25))
    found = sample(X, labels)
    plain = " ".join(of_attribute(found, "team", 5, True))
    assert "Small groups (g2)" in plain
    assert "No target was named" in plain
    assert "Columns that tell much" not in plain
    found.columns.loc[1, "proxy"] = "team"
    found.columns.loc[2, ["proxy", "used as"]] = ["team", "left out"]
    told = " ".join(of_attribute(found, "team", 5, True))
    assert "(x1)" in told


def test_the_number_of_components():
    assert smallest_k({1: 0.5, 2: KEPT, 3: 0.9}) == 2
    assert smallest_k({1: 0.5, 2: 0.6}) == 2
    with pytest.raises(ConfigurationError, match="'losses', 'errors', 'means'"):
        require_concern("fairness")
    with pytest.raises(ConfigurationError, match="concern="):
        require_concern(["losses"])
