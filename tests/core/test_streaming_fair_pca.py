"""The fair noisy power method: where it goes, what it must not depend on, what it survives, and what it holds."""

import re
import warnings

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.exceptions import NotFittedError

from evenspan import GroupMoments, NullItOutPCA, StandardPCA, StreamingFairPCA
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    GroupError,
    SingleGroupWarning,
    SurplusComponentsWarning,
)
from evenspan.core.streams import ArrayStream, FunctionStream, OneShotStream
from evenspan.representation import StreamEndedWarning

from .memory import peak_of
from .samples import angle, draw, group_gap, size, two_attributes

CENTRES = {
    "group": {"gap": "covariance", "center": "overall"},
    "overall": {"gap": "second_moment", "center": "overall"},
    "none": {"gap": "second_moment", "center": "none"},
}


def big():
    """900 and 500 rows of 8 features, shuffled; the overall mean is far from zero."""
    rng = np.random.default_rng(7)
    groups = np.repeat(["man", "woman"], [900, 500])
    X = rng.normal(size=(1400, 8)) * np.array([9, 6, 4, 2.6, 1.7, 1.1, 0.7, 0.5])
    X[groups == "woman", 1] *= 2.0
    X[groups == "man", 3] *= 2.5
    X[groups == "woman", 6] += 2.0
    X = (X + 3.0) @ ortho_group.rvs(8, random_state=1)
    order = rng.permutation(1400)
    return X[order], groups[order]


X, GROUPS = big()


def batches_of(data, groups, length):
    parts = range(0, len(data), length)
    return FunctionStream(lambda: ((data[i : i + length], groups[i : i + length]) for i in parts))


def fitted(k=2, m=2, data=X, groups=GROUPS, **options):
    return StreamingFairPCA(k, m, **options).fit(data, sensitive_features=groups)


def streamed(stream, k=2, m=2, **options):
    return StreamingFairPCA(k, m, **options).fit(stream)


def apart(a, b, name="components_"):
    return angle(getattr(a, name).T, getattr(b, name).T)


@pytest.mark.parametrize("center", CENTRES)
@pytest.mark.parametrize("constraint", ["all", "covariance", "mean", "vanilla"])
def test_passes_lead_to_the_exact_answer_of_the_sample(center, constraint):
    exact = NullItOutPCA(2, 2, constraint=constraint, **CENTRES[center]).fit(X, sensitive_features=GROUPS)
    options = {"constraint": constraint, "center": center}
    model = streamed(batches_of(X, GROUPS, 700), n_blocks=120, **options)
    again = StreamingFairPCA(2, 2, n_blocks=120, **options).fit_moments(GroupMoments.from_data(X, GROUPS))
    assert apart(model, exact) < 1e-9
    assert apart(model, again) < 1e-9
    assert constraint == "vanilla" or apart(model, exact, "nullified_") < 1e-9
    np.testing.assert_allclose(model.mean_, exact.mean_, atol=1e-10)
    assert model.residual_ < 1e-9
    short = streamed(batches_of(X, GROUPS, 100), n_blocks=2, **options)  # the control: two passes are not enough
    assert apart(short, exact) > 1e-4 < short.residual_


def test_what_is_promised_of_every_answer():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(3, 2, n_blocks=3)
    stacked = np.vstack([model.nullified_, model.components_])
    np.testing.assert_allclose(stacked @ stacked.T, np.eye(6), atol=1e-13)
    # Every row was read in the first phase, so the means are those of the sample and their gap is gone at once.
    assert group_gap(model.transform(X), GROUPS) < 1e-12 * size(X) < group_gap(StandardPCA(3).fit_transform(X), GROUPS)
    Y, certificate = X - X.mean(axis=0), model.certificate_
    assert certificate.feasibility < 1e-13
    assert certificate.primal <= np.linalg.norm(Y @ model.components_.T) ** 2 / 1400 * (1 + 1e-12)
    assert certificate.dual == pytest.approx(np.linalg.norm(Y) ** 2 / 1400, rel=1e-10)
    assert [entry["phase"] for entry in model.blocks_] == ["gap"] * 3 + ["components"] * 3
    assert all(entry["n_rows"] == 1400 for entry in model.blocks_)


def test_the_rate_is_the_ratio_of_the_eigenvalues_whatever_their_signs():
    turn = ortho_group.rvs(6, random_state=2)
    shared, gap = 9.0 * np.eye(6), turn.T @ np.diag([4.0, -3.0, 1.5, 0.0, 0.0, -0.5]) @ turn
    counts, means = np.array([1e6, 1e6]), np.array([np.zeros(6), np.random.default_rng(0).normal(size=6)])
    covariances = np.array([shared - gap / 2, shared + gap / 2])
    moments = GroupMoments(np.array([0, 1]), counts, means, (counts - 1)[:, None, None] * covariances)

    def model(T):
        return StreamingFairPCA(1, 2, center="group", n_blocks=(T, 1), random_state=3).fit_moments(moments)

    errors = {T: np.tan(angle(turn[:2].T, model(T).gap_directions_.T)) for T in (12, 13, 20, 21)}
    np.testing.assert_allclose([errors[13] / errors[12], errors[21] / errors[20]], 1.5 / 3.0, rtol=1e-3)
    np.testing.assert_allclose(model(60).gap_ritz_values_, [4.0, -3.0], rtol=1e-9)
    np.testing.assert_allclose(model(60).relative_gaps_, [4 / 18, 3 / 18], rtol=1e-9)
    pair = np.array([np.diag([1.0, 5, 2, 2, 2]), np.diag([5.0, 1, 2, 2, 2.5])])  # eigenvalues 4 and -4
    moments = GroupMoments(np.array([0, 1]), np.full(2, 100.0), np.zeros((2, 5)), 99.0 * pair)
    found = StreamingFairPCA(1, 2, center="group", constraint="covariance", n_blocks=40).fit_moments(moments)
    assert angle(found.gap_directions_.T, np.eye(5)[:, :2]) < 1e-10
    np.testing.assert_allclose(np.sort(found.gap_ritz_values_), [-4, 4], rtol=1e-9)  # of covariances, divisor n - 1


def test_blocks_are_cut_to_the_row():
    model = streamed(batches_of(X, GROUPS, 64), n_blocks=(4, 2), block_size=(350, 600))
    assert [entry["n_rows"] for entry in model.blocks_] == [350] * 4 + [600] * 2
    for i, entry in enumerate(model.blocks_[:4]):
        part = GROUPS[350 * i : 350 * (i + 1)]
        assert entry["group_counts"] == ((part == "man").sum(axis=0), (part == "woman").sum(axis=0))
    with pytest.warns(StreamEndedWarning, match="after 3 of 5 blocks of 600 rows in phase 'components'"):
        short = streamed(batches_of(X, GROUPS, 64), n_blocks=(2, 5), block_size=600)
    assert [entry["n_rows"] for entry in short.blocks_] == [600] * 4 + [200]


def by_hand(model, bounds, phase):
    for a, b in bounds:
        model.partial_fit(X[a:b], sensitive_features=GROUPS[a:b], phase=phase)
    return model


def test_blocks_by_hand_are_the_fit_and_what_can_be_read_once_is_read_on():
    model = by_hand(StreamingFairPCA(2, 2), [(350 * i, 350 * i + 350) for i in range(4)], "gap")
    by_hand(model, [(0, 350), (350, 700)], "components")
    whole = streamed(ArrayStream(X, GROUPS, batch_size=175), n_blocks=(4, 2), block_size=350)
    assert apart(model, whole) < 1e-10
    np.testing.assert_allclose(model.mean_, whole.mean_, atol=1e-12)
    for phase, words in (("gap", "fixed when the second phase begins"), ("two", "phase='two'")):
        with pytest.raises(ConfigurationError, match=words):
            model.partial_fit(X, sensitive_features=GROUPS, phase=phase)
    once = streamed(iter(batches_of(X, GROUPS, 100)), n_blocks=(3, 2), block_size=(300, 250))
    other = by_hand(StreamingFairPCA(2, 2), [(0, 300), (300, 600), (600, 900)], "gap")
    assert apart(once, by_hand(other, [(900, 1150), (1150, 1400)], "components")) < 1e-10
    assert once.group_counts_.sum(axis=0) == 1400
    with pytest.raises(ConfigurationError, match="Give block_size"):
        streamed(iter(batches_of(X, GROUPS, 100)))
    with pytest.raises(DataError, match="not one row was left"):
        streamed(iter(batches_of(X, GROUPS, 100)), n_blocks=(2, 1), block_size=700)


def test_fit_begins_anew_after_blocks_by_hand_and_the_other_way_round():
    blocks = [(0, 350), (350, 700)]
    fresh, alone = fitted(n_blocks=3), by_hand(by_hand(StreamingFairPCA(2, 2), blocks, "gap"), blocks, "components")
    model = by_hand(by_hand(StreamingFairPCA(2, 2, n_blocks=3), blocks, "gap"), blocks, "components")
    model.fit(X, sensitive_features=GROUPS)
    np.testing.assert_array_equal(model.components_, fresh.components_)
    np.testing.assert_array_equal(model.group_counts_, fresh.group_counts_)
    by_hand(model, blocks, "gap")
    with pytest.raises(NotFittedError):  # what was fitted before is of other rows
        model.transform(X)
    by_hand(model, blocks, "components")
    np.testing.assert_array_equal(model.components_, alone.components_)
    assert model.blocks_ == alone.blocks_


def test_components_need_a_block_of_the_first_phase():
    for model in (StreamingFairPCA(2, 2), fitted(n_blocks=1)):
        before = dict(vars(model))
        with pytest.raises(ConfigurationError, match="before any block of phase='gap'"):
            by_hand(model, [(0, 350)], "components")
        assert vars(model) == before
    assert by_hand(StreamingFairPCA(2, 2, constraint="vanilla"), [(0, 350)], "components").components_.shape == (2, 8)


def test_a_block_without_a_group_does_not_touch_the_basis():
    men, both = X[GROUPS == "man"], slice(0, 400)
    for on_missing in ("carry", "skip"):
        model = StreamingFairPCA(2, 2, on_missing=on_missing)
        model.partial_fit(X[both], sensitive_features=GROUPS[both])
        before = model._power.W.copy()
        model.partial_fit(men[:50], sensitive_features=["man"] * 50)
        assert np.array_equal(model._power.W, before)
        model.partial_fit(X[both], sensitive_features=GROUPS[both])
        assert not np.array_equal(model._power.W, before)
        model.partial_fit(X, sensitive_features=GROUPS, phase="components")
        assert [entry["skipped"] for entry in model.blocks_] == [False, True, False, False]
        assert model.n_skipped_blocks_ == 1
        # Carried or not, the rows count for the means.
        assert model.group_counts_[0] == 2 * (GROUPS[both] == "man").sum(axis=0) + 50 + 900
        carried = model.blocks_[2]["group_counts"][0] - model.blocks_[0]["group_counts"][0]
        assert carried == (50 if on_missing == "carry" else 0)


def test_single_precision_and_pixels():
    pixels = np.clip(8 * X + 100, 0, 255).astype(np.uint8)
    for data in (X.astype(np.float32), pixels):
        model = streamed(ArrayStream(data, GROUPS), n_blocks=100)
        double = streamed(ArrayStream(data.astype(np.float64), GROUPS), n_blocks=100)
        assert (model.components_.dtype, double.components_.dtype) == (np.float32, np.float64)
        assert apart(model, double) < 1e-3
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-5)
        assert np.abs(model.components_ @ model.nullified_.T).max() < 1e-6


def test_a_mean_gap_that_is_noise_can_be_left_alone():
    for seed in range(3):  # rows read again are no new evidence of a mean gap
        Z, z = np.random.default_rng(seed).normal(size=(1000, 6)) * [6, 4, 3, 2, 1, 1], np.repeat([0, 1], [600, 400])
        Z[z == 1, 3] *= 3
        for shift, kept in ((0.0, 1), (3.0, 2)):
            moved = Z + shift * np.outer(z == 1, [1, 0, 0, 0, 0, 0])
            assert len(fitted(2, 1, moved, z, mean_tol=10, n_blocks=(100, 2)).nullified_) == kept, seed


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_components_without_variance_stay_outside_of_what_is_removed(dtype):
    groups, eps = np.repeat(["a", "b"], [60, 40]), np.finfo(dtype).eps
    for seed in range(4):
        rng = np.random.default_rng(seed)
        Y = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 8))
        Y += np.outer(groups == "b", Y[0])
        with pytest.warns(SurplusComponentsWarning, match="carry no variance in the last block"):
            model = fitted(6, 1, Y.astype(dtype), groups, n_blocks=30, random_state=seed)
        assert np.abs(model.nullified_ @ model.components_.T).max() < 1e3 * eps
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e3 * eps)


def test_several_groups_and_attributes_are_those_of_the_exact_method():
    three = draw()
    options = {"constraint": "covariance", "gap": "second_moment"}
    exact = NullItOutPCA(2, 1, **options).fit(three.X, sensitive_features=three.groups)
    model = fitted(2, 1, three.X, three.groups, constraint="covariance", n_blocks=400)
    assert apart(model, exact, "nullified_") < 1e-7
    Y, groups = two_attributes()
    exact = NullItOutPCA(2, 0, attributes="marginal").fit(Y, sensitive_features=groups)
    assert apart(fitted(2, 0, Y, groups, n_blocks=500, attributes="marginal"), exact) < 1e-8
    with pytest.raises(ComponentsError, match="no component is possible: 6 feature"):
        fitted(1, 2, three.X, three.groups, n_blocks=2)
    with pytest.warns(SingleGroupWarning, match="one group only"):
        alone = fitted(groups=np.full(1400, "all"), on_single_group="warn", n_blocks=60)
    assert apart(alone, StandardPCA(2).fit(X)) < 1e-7


# -- memory ---------------------------------------------------------------------------------------------------------


def wide_stream(d, batches, q):
    """Rows drawn as they are asked for; the second group is larger along one direction, and shifted."""
    direction = np.random.default_rng(9).standard_normal(d, dtype=np.float32)
    direction /= np.linalg.norm(direction)

    def make():
        rng = np.random.default_rng(1)
        for _ in range(batches):
            groups = np.arange(q) % 3 == 0
            rows = rng.standard_normal((q, d), dtype=np.float32)
            rows += np.outer(np.where(groups, 300 * rng.standard_normal(q) + 80, 0).astype(np.float32), direction)
            yield rows, groups

    return FunctionStream(make), direction


def test_a_few_tall_matrices_and_one_batch_are_held_never_d_by_d_nor_all_rows():
    stream, direction = wide_stream(50_000, 4, 64)
    held, model = peak_of(lambda: streamed(stream, 20, 5, n_blocks=2))
    assert held < 6 * 4 * 50_000 * (20 + 5 + 64)
    assert np.linalg.norm(model.nullified_ @ direction) > 0.99, "the method did its work"
    # The control: moments of the same stream, from which every other method here starts.
    assert peak_of(lambda: GroupMoments.from_batches(wide_stream(3_000, 3, 64)[0]))[0] > 6 * 4 * 3_000 * (20 + 5 + 64)


# -- refusals -------------------------------------------------------------------------------------------------------


def test_what_is_refused_is_said():
    late, broken = GROUPS.copy(), X.copy()
    late[-1], broken[537, 3] = "other", np.nan
    ragged = [(X[:100], GROUPS[:100]), (X[100:200, :5], GROUPS[100:200])]
    spent = OneShotStream(iter([(X, GROUPS)]))
    list(spent)
    unheard = {"constraint": "mean", "groups": ["man", "woman", "other"], "n_blocks": 1}
    for stream, options, error, words in (
        (batches_of(X, GROUPS, 100), unheard, GroupError, "other never appeared in 1400 rows"),
        (batches_of(X, np.full(1400, "all"), 100), {}, GroupError, "one group only"),
        (batches_of(X, late, 100), {}, GroupError, "'other' appears for the first time"),
        (batches_of(broken, GROUPS, 100), {}, DataError, r"column.* 3 \(1\)"),
        (lambda: iter(ragged), {}, DataError, "batch 2 has 5 features.* 8"),
        (batches_of((X * 1e25).astype(np.float32), GROUPS, 100), {}, DataError, "overflow"),
        (spent, {"block_size": 10}, DataError, "only once"),
    ):
        with pytest.raises(error, match=words):
            streamed(stream, **options)
    for options, error, words in (
        ({"k": 6}, ComponentsError, "at most 5: there are 8 dimension(s) less 3 removed"),
        ({"k": 9, "constraint": "vanilla"}, ComponentsError, "at most 8"),
        ({"center": "mean"}, ConfigurationError, "center='mean'"),
        ({"n_blocks": (1, 2, 3)}, ConfigurationError, "n_blocks=(1, 2, 3)"),
        ({"block_size": 1.5}, ConfigurationError, "block_size=1.5"),
        ({"groups": None}, GroupError, "sensitive_features is None"),
        ({"data": ArrayStream(X, GROUPS)}, ConfigurationError, "bring their own groups"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            fitted(**options)
    with pytest.warns(SurplusComponentsWarning, match="in the last block"):
        fitted(3, constraint="vanilla", block_size=2, n_blocks=1)
