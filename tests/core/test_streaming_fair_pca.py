"""The fair noisy power method: where it goes, what it must not depend on, and what it survives."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ortho_group

from evenspan import GroupMoments, NullItOutPCA, StandardPCA, StreamingFairPCA
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    GroupError,
    ResultError,
    SurplusComponentsWarning,
)
from evenspan.core.streams import ArrayStream, FunctionStream, OneShotStream
from evenspan.representation import SmallBlockWarning, StreamEndedWarning
from evenspan.representation.noisy_power import FairPowerMethod, PowerOptions, subspace_change

from .samples import angle, draw, group_gap, size, two_attributes

CENTRES = {
    "group": {"gap": "covariance", "center": True},
    "global": {"gap": "second_moment", "center": True},
    "none": {"gap": "second_moment", "center": False},
}


@pytest.fixture(scope="module")
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


def batches_of(X, groups, length):
    return FunctionStream(lambda: ((X[i : i + length], groups[i : i + length]) for i in range(0, len(X), length)))


def basis_angle(A, B):
    return angle(A.T, B.T)


@pytest.mark.parametrize("center", CENTRES)
@pytest.mark.parametrize("constraint", ["all", "covariance", "mean", "vanilla"])
def test_passes_lead_to_the_exact_answer_of_the_sample(big, center, constraint):
    X, groups = big
    exact = NullItOutPCA(2, 2, constraint=constraint, **CENTRES[center]).fit(X, sensitive_features=groups)
    options = {"constraint": constraint, "center": center}
    model = StreamingFairPCA(2, 2, n_blocks=120, **options).fit(batches_of(X, groups, 700))
    assert basis_angle(model.components_, exact.components_) < 1e-9
    assert basis_angle(model.nullified_, exact.nullified_) < 1e-9 if constraint != "vanilla" else True
    moments = GroupMoments.from_data(X, groups)
    again = StreamingFairPCA(2, 2, n_blocks=120, **options).fit_moments(moments)
    assert basis_angle(model.components_, again.components_) < 1e-9
    np.testing.assert_allclose(model.mean_, exact.mean_, atol=1e-10)
    assert model.residual_ < 1e-9
    # The control: two passes are not enough.
    short = StreamingFairPCA(2, 2, n_blocks=2, **options).fit(batches_of(X, groups, 100))
    assert basis_angle(short.components_, exact.components_) > 1e-4
    assert short.residual_ > 1e-4


def test_what_is_promised_of_every_answer(big):
    X, groups = big
    model = StreamingFairPCA(3, 2, n_blocks=3).fit(X, sensitive_features=groups)
    stacked = np.vstack([model.nullified_, model.components_])
    np.testing.assert_allclose(stacked @ stacked.T, np.eye(6), atol=1e-13)
    # Every row was read in the first phase, so the means are those of the sample and their gap is gone at once.
    assert group_gap(model.transform(X), groups) < 1e-12 * size(X) < group_gap(StandardPCA(3).fit_transform(X), groups)
    certificate = model.certificate_
    assert certificate.feasibility < 1e-13
    Y = X - X.mean(axis=0)
    assert certificate.primal <= np.linalg.norm(Y @ model.components_.T) ** 2 / len(X) * (1 + 1e-12)
    assert certificate.dual == pytest.approx(np.linalg.norm(Y) ** 2 / len(X), rel=1e-10)
    assert [entry["phase"] for entry in model.history_] == ["gap"] * 3 + ["components"] * 3
    assert all(entry["n_rows"] == 1400 for entry in model.history_)
    assert model.get_feature_names_out().tolist() == [f"streamingfairpca{j}" for j in range(3)]


def test_the_rate_is_the_ratio_of_the_eigenvalues():
    d = 6
    rng = np.random.default_rng(0)
    turn = ortho_group.rvs(d, random_state=2)
    shared = turn.T @ np.diag([9.0, 9, 9, 9, 9, 9]) @ turn
    gap = turn.T @ np.diag([4.0, -3.0, 1.5, 0.0, 0.0, -0.5]) @ turn
    counts = np.array([1e6, 1e6])
    covariances = np.array([shared - gap / 2, shared + gap / 2])
    moments = GroupMoments(
        np.array([0, 1]), counts, np.array([[0.0] * d, rng.normal(size=d)]), (counts - 1)[:, None, None] * covariances
    )
    truth = turn[:2].T

    def error(T):
        model = StreamingFairPCA(1, 2, center="group", n_blocks=(T, 1), random_state=3).fit_moments(moments)
        return np.tan(angle(truth, model.gap_directions_.T))

    rates = [error(T + 1) / error(T) for T in (12, 16, 20)]
    np.testing.assert_allclose(rates, 1.5 / 3.0, rtol=1e-3)
    model = StreamingFairPCA(1, 2, center="group", n_blocks=(60, 1)).fit_moments(moments)
    np.testing.assert_allclose(model.gap_ritz_values_, [4.0, -3.0], rtol=1e-9)
    np.testing.assert_allclose(model.relative_gaps_, [4 / 18, 3 / 18], rtol=1e-9)


@pytest.mark.parametrize("turn", [1e-9, 1e-5, 0.02, 0.0316, 0.0317, 0.5, 1.5])
def test_a_change_is_the_sine_however_small(turn):
    Q = ortho_group.rvs(9, random_state=0)
    before = Q[:, :3]
    after = np.column_stack([Q[:, 0], Q[:, 1], np.cos(turn) * Q[:, 2] + np.sin(turn) * Q[:, 5]])
    mixed = after @ ortho_group.rvs(3, random_state=1)
    assert subspace_change(before, mixed) == pytest.approx(np.sin(turn), rel=1e-6)
    assert subspace_change(before[:, :0], mixed[:, :0]) == 0.0


def test_opposite_eigenvalues_are_found_as_a_pair():
    d = 5
    moments = GroupMoments(
        np.array([0, 1]),
        np.array([100.0, 100.0]),
        np.zeros((2, d)),
        99.0 * np.array([np.diag([1.0, 5, 2, 2, 2]), np.diag([5.0, 1, 2, 2, 2.5])]),
    )
    model = StreamingFairPCA(1, 2, center="group", constraint="covariance", n_blocks=40).fit_moments(moments)
    assert angle(model.gap_directions_.T, np.eye(d)[:, :2]) < 1e-10


def test_directions_come_by_the_size_of_their_gap_whatever_its_sign():
    covariances = np.array([np.diag([9.0, 3, 2, 2, 2]), np.diag([1.0, 6, 2, 2, 2.5])])
    moments = GroupMoments(np.array([0, 1]), np.array([100.0, 100.0]), np.zeros((2, 5)), 99.0 * covariances)
    model = StreamingFairPCA(1, 2, center="group", constraint="covariance", n_blocks=60).fit_moments(moments)
    np.testing.assert_allclose(model.gap_ritz_values_, [-8.0, 3.0], rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.gap_directions_), np.eye(5)[:2], atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"block_size": 333}, {"block_size": (200, 450), "n_blocks": (7, 3)}])
def test_the_size_of_the_batches_does_not_matter(big, options):
    X, groups = big
    options = {"n_blocks": 4} | options
    answers = [
        StreamingFairPCA(2, 2, **options).fit(batches_of(X, groups, length)).components_ for length in (1, 50, 1400)
    ]
    assert basis_angle(answers[0], answers[1]) < 1e-10
    assert basis_angle(answers[0], answers[2]) < 1e-10


def test_a_stream_is_the_array_to_the_last_bit(big):
    X, groups = big
    options = {"n_blocks": 3, "block_size": 400}
    from_array = StreamingFairPCA(2, 2, **options).fit(ArrayStream(X, groups, batch_size=64))
    from_function = StreamingFairPCA(2, 2, **options).fit(batches_of(X, groups, 64))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    from_frame = StreamingFairPCA(2, 2, **options).fit(ArrayStream(frame, pd.Series(groups), batch_size=64))
    assert np.array_equal(from_array.components_, from_function.components_)
    assert np.array_equal(from_array.components_, from_frame.components_)
    assert from_frame.feature_names_in_.tolist() == list(frame.columns)


def test_blocks_are_cut_to_the_row(big):
    X, groups = big
    model = StreamingFairPCA(2, 2, n_blocks=(4, 2), block_size=(350, 600)).fit(batches_of(X, groups, 64))
    assert [entry["n_rows"] for entry in model.history_] == [350] * 4 + [600] * 2
    for i, entry in enumerate(model.history_[:4]):
        part = groups[350 * i : 350 * (i + 1)]
        assert entry["group_counts"] == ((part == "man").sum(axis=0), (part == "woman").sum(axis=0))
    with pytest.warns(StreamEndedWarning, match="after 3 of 5 blocks of 600 rows in phase 'components'"):
        short = StreamingFairPCA(2, 2, n_blocks=(2, 5), block_size=600).fit(batches_of(X, groups, 64))
    assert [entry["n_rows"] for entry in short.history_] == [600] * 4 + [200]


def test_what_can_be_read_only_once_is_read_on(big):
    X, groups = big
    options = {"n_blocks": (3, 2), "block_size": (300, 250)}
    once = StreamingFairPCA(2, 2, **options).fit(iter(batches_of(X, groups, 100)))
    assert once.group_counts_.sum(axis=0) == 1400
    # Phase 2 sees other rows than with a stream that begins again.
    power = StreamingFairPCA(2, 2, **options)
    for start, stop in ((0, 300), (300, 600), (600, 900)):
        power.partial_fit(X[start:stop], sensitive_features=groups[start:stop])
    for start, stop in ((900, 1150), (1150, 1400)):
        power.partial_fit(X[start:stop], sensitive_features=groups[start:stop], phase="components")
    assert basis_angle(once.components_, power.components_) < 1e-10
    with pytest.raises(ConfigurationError, match="Give block_size"):
        StreamingFairPCA(2, 2).fit(iter(batches_of(X, groups, 100)))
    with pytest.raises(DataError, match="not one row was left"):
        StreamingFairPCA(2, 2, n_blocks=(2, 1), block_size=700).fit(iter(batches_of(X, groups, 100)))


def test_blocks_by_hand_are_the_fit(big):
    X, groups = big
    fitted = StreamingFairPCA(2, 2, n_blocks=(4, 2), block_size=350).fit(ArrayStream(X, groups, batch_size=175))
    model = StreamingFairPCA(2, 2)
    for phase, number in (("gap", 4), ("components", 2)):
        for i in range(number):
            for half in (0, 175):
                rows = slice(350 * i + half, 350 * i + half + 175)
                model.partial_fit(X[rows], sensitive_features=groups[rows], phase=phase, end_block=half > 0)
    assert basis_angle(model.components_, fitted.components_) < 1e-10
    np.testing.assert_allclose(model.mean_, fitted.mean_, atol=1e-12)
    with pytest.raises(ConfigurationError, match="fixed when the second phase begins"):
        model.partial_fit(X, sensitive_features=groups, phase="gap")
    with pytest.raises(ConfigurationError, match="phase='two'"):
        model.partial_fit(X, sensitive_features=groups, phase="two")


def test_a_block_without_a_group_does_not_touch_the_basis(big):
    X, groups = big
    men, both = X[groups == "man"], slice(0, 400)
    for on_missing in ("carry", "skip"):
        model = StreamingFairPCA(2, 2, on_missing=on_missing)
        model.partial_fit(X[both], sensitive_features=groups[both])
        before = model._power.W.copy()
        model.partial_fit(men[:50], sensitive_features=["man"] * 50)
        assert np.array_equal(model._power.W, before)
        model.partial_fit(X[both], sensitive_features=groups[both])
        assert not np.array_equal(model._power.W, before)
        model.partial_fit(X, sensitive_features=groups, phase="components")
        assert model.n_skipped_blocks_ == 1
        assert [entry["skipped"] for entry in model.history_] == [False, True, False, False]
        # Carried or not, the rows count for the means.
        assert model.group_counts_[0] == 2 * (groups[both] == "man").sum(axis=0) + 50 + 900
        carried = model.history_[2]["group_counts"][0] - model.history_[0]["group_counts"][0]
        assert carried == (50 if on_missing == "carry" else 0)


def test_carrying_is_a_longer_block(big):
    X, groups = big
    order = np.argsort(groups[:600], kind="stable")  # the first blocks have men only
    Y, z = X[:600][order], groups[:600][order]
    assert 370 < (z == "man").sum(axis=0) < 400  # the third block is the first with women enough
    carried = StreamingFairPCA(2, 2, n_blocks=(3, 2), block_size=200, groups=["man", "woman"], min_group=30)
    carried.fit(batches_of(Y, z, 100))
    assert [entry["skipped"] for entry in carried.history_] == [True, True, False, False, False]
    whole = StreamingFairPCA(2, 2, n_blocks=(1, 2), block_size=(600, 200)).fit(batches_of(Y, z, 100))
    assert basis_angle(carried.components_, whole.components_) < 1e-10
    with pytest.raises(GroupError, match="no block had rows of all groups"):
        StreamingFairPCA(2, 2, n_blocks=(6, 1), block_size=100, on_missing="skip").fit(
            batches_of(np.vstack([Y[:300], Y[-300:]]), np.repeat(["man", "woman"], 300), 100)
        )


def test_a_step_needs_as_many_rows_of_each_group_as_directions(big):
    X, groups = big
    few = np.concatenate([np.flatnonzero(groups == "man")[:60], np.flatnonzero(groups == "woman")[:3]])
    model = StreamingFairPCA(2, 4)
    model.partial_fit(X[few], sensitive_features=groups[few])
    assert model._power.history[-1]["skipped"]
    model = StreamingFairPCA(2, 3).partial_fit(X[few], sensitive_features=groups[few])
    assert not model._power.history[-1]["skipped"]
    model = StreamingFairPCA(2, 4, min_group=1).partial_fit(X[few], sensitive_features=groups[few])
    assert not model._power.history[-1]["skipped"]
    with (
        pytest.warns(SmallBlockWarning, match=r"2 row\(s\) for 3 components"),
        pytest.warns(SurplusComponentsWarning, match="1 of 3|2 of 3 components carry no variance in the last block"),
    ):
        StreamingFairPCA(3, constraint="vanilla", block_size=2, n_blocks=1).fit(X, sensitive_features=groups)


def test_a_group_that_never_comes(big):
    X, groups = big
    with pytest.raises(GroupError, match=r"other never appeared in 1400 rows"):
        StreamingFairPCA(1, 1, constraint="mean", groups=["man", "woman", "other"], n_blocks=1).fit(
            batches_of(X, groups, 100)
        )
    with pytest.raises(GroupError, match="one group only"):
        StreamingFairPCA(2, 2).fit(batches_of(X, np.full(1400, "all"), 100))
    assert StreamingFairPCA(2, constraint="vanilla").fit(X, sensitive_features=np.full(1400, "all")).components_.any()
    late = groups.copy()
    late[-1] = "other"
    with pytest.raises(GroupError, match=r"batch 14 .*'other' appears for the first time"):
        StreamingFairPCA(2, 2).fit(batches_of(X, late, 100))


def test_bad_entries_are_told_with_their_batch(big):
    X, groups = big
    broken = X.copy()
    broken[537, 3] = np.nan
    with pytest.raises(DataError, match=r"batch 6 \(rows 500:600\): .*column.* 3 \(1\)"):
        StreamingFairPCA(2, 2).fit(batches_of(broken, groups, 100))

    def ragged():
        yield X[:100], groups[:100]
        yield X[100:200, :5], groups[100:200]

    with pytest.raises(DataError, match=r"batch 2 .*5 features.* 8"):
        StreamingFairPCA(2, 2).fit(ragged)
    with pytest.raises(DataError, match="overflow"):
        StreamingFairPCA(2, 2, dtype="float32").fit(X * 1e25, sensitive_features=groups)


@pytest.mark.parametrize("at", [0, 3, 9, 14, 20, 22])
@pytest.mark.parametrize("options", [{"n_blocks": 2}, {"n_blocks": (3, 3), "block_size": 430}])
def test_an_interrupted_run_goes_on_where_it_was(big, tmp_path, at, options):
    X, groups = big
    whole = StreamingFairPCA(2, 2, **options).fit(batches_of(X, groups, 100))
    given = 0

    class LostError(OSError):
        pass

    def failing():
        nonlocal given
        for X_part, labels in batches_of(X, groups, 100):
            given += 1
            if given == at + 2:
                raise LostError("the disk is gone")
            yield X_part, labels

    file = tmp_path / "state.npz"
    with pytest.raises(LostError, match="the disk is gone"):
        StreamingFairPCA(2, 2, **options).fit(failing, checkpoint=file)
    done = file.exists()
    assert done == (at >= (14 if "block_size" not in options else 5))
    resumed = StreamingFairPCA(2, 2, **options).fit(batches_of(X, groups, 100), checkpoint=file)
    assert np.array_equal(resumed.components_, whole.components_)
    assert resumed.history_ == whole.history_
    assert np.array_equal(resumed.mean_, whole.mean_)


def test_a_carried_block_survives_an_interruption(big, tmp_path):
    X, groups = big
    order = np.argsort(groups, kind="stable")
    Y, z = X[order], groups[order]
    options = {"n_blocks": (4, 2), "block_size": 350, "groups": ["man", "woman"]}
    whole = StreamingFairPCA(2, 2, **options).fit(batches_of(Y, z, 70))
    count = 0

    def failing():
        nonlocal count
        for batch in batches_of(Y, z, 70):
            count += 1
            if count == 9:
                raise OSError("gone")
            yield batch

    with pytest.raises(OSError, match="gone"):
        StreamingFairPCA(2, 2, **options).fit(failing, checkpoint=tmp_path / "s.npz")
    resumed = StreamingFairPCA(2, 2, **options).fit(batches_of(Y, z, 70), checkpoint=tmp_path / "s.npz")
    assert np.array_equal(resumed.components_, whole.components_)
    assert whole.history_[0]["skipped"]


def test_a_checkpoint_of_another_run_is_refused(big, tmp_path):
    X, groups = big
    file = tmp_path / "state.npz"
    StreamingFairPCA(2, 2, n_blocks=2).fit(X, sensitive_features=groups, checkpoint=file)
    with pytest.raises(ConfigurationError, match=r"n_components=2 \(now 3\)"):
        StreamingFairPCA(3, 2, n_blocks=2).fit(X, sensitive_features=groups, checkpoint=file)
    with pytest.raises(ConfigurationError, match="other data"):
        StreamingFairPCA(2, 2, n_blocks=2).fit(X + 1, sensitive_features=groups, checkpoint=file)
    more = StreamingFairPCA(2, 2, n_blocks=4).fit(X, sensitive_features=groups, checkpoint=file)
    assert sum(entry["phase"] == "components" for entry in more.history_) == 4
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(ResultError, match="Delete it"):
        StreamingFairPCA(2, 2, n_blocks=2).fit(X, sensitive_features=groups, checkpoint=file)


def test_the_origin_matters_only_without_centring(big):
    X, groups = big
    moved = X + 50.0
    for center in CENTRES:
        options = {"center": center, "n_blocks": 100}
        here, there = (StreamingFairPCA(2, 2, **options).fit(Y, sensitive_features=groups) for Y in (X, moved))
        assert (basis_angle(here.components_, there.components_) < 1e-7) == (center != "none")


def test_single_precision_and_pixels(big):
    X, groups = big
    small = X.astype(np.float32)
    model = StreamingFairPCA(2, 2, n_blocks=100).fit(small, sensitive_features=groups)
    assert model.components_.dtype == np.float32
    assert (
        basis_angle(
            model.components_, StreamingFairPCA(2, 2, n_blocks=100).fit(X, sensitive_features=groups).components_
        )
        < 1e-3
    )
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-5)
    assert np.abs(model.components_ @ model.nullified_.T).max() < 1e-6
    pixels = np.clip(8 * X + 100, 0, 255).astype(np.uint8)
    by_pixel = StreamingFairPCA(2, 2, n_blocks=100).fit(ArrayStream(pixels, groups))
    assert by_pixel.components_.dtype == np.float32
    double = StreamingFairPCA(2, 2, n_blocks=100, dtype="float64").fit(ArrayStream(pixels, groups))
    assert basis_angle(by_pixel.components_, double.components_) < 1e-3


def test_without_a_gap_the_directions_can_be_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5)) * [5, 4, 3, 2, 1]
    groups = np.repeat(["a", "b"], [4000, 2000])
    X[groups == "b", 0] += 3
    X[groups == "b", 3] *= 3
    model = StreamingFairPCA(2, 3, n_blocks=60, gap_tol=0.3, center="group").fit(X, sensitive_features=groups)
    assert model.nullified_.shape == (2, 5)
    assert model.relative_gaps_[0] > 0.7 > 0.2 > model.relative_gaps_[1]
    kept = StreamingFairPCA(2, 1, n_blocks=60, center="group").fit(X, sensitive_features=groups)
    assert basis_angle(model.components_, kept.components_) < 1e-8


def test_noise_of_equal_means_need_not_be_removed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6)) * [6, 4, 3, 2, 1, 1]
    groups = np.repeat(["a", "b"], [3000, 2000])
    for shift, kept in ((0.0, 0), (1.0, 1)):
        Y = X + shift * np.outer(groups == "b", [0, 0, 1, 0, 0, 0])
        model = StreamingFairPCA(2, constraint="mean", mean_tol=10, n_blocks=40).fit(Y, sensitive_features=groups)
        assert len(model.nullified_) == kept
    noise = StreamingFairPCA(2, constraint="mean", n_blocks=40).fit(X, sensitive_features=groups)
    assert len(noise.nullified_) == 1
    lost = np.linalg.norm(X @ noise.components_.T) ** 2 / np.linalg.norm(X @ np.eye(6)[:, :2]) ** 2
    assert lost < 0.95


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(6))
def test_components_without_variance_stay_outside_of_what_is_removed(dtype, seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(["a", "b"], [60, 40])
    X = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 8))
    X += np.outer(groups == "b", X[0])
    options = {"n_blocks": 30, "dtype": dtype, "random_state": seed}
    with pytest.warns(UserWarning, match="carry no variance"):
        model = StreamingFairPCA(6, 1, **options).fit(X, sensitive_features=groups)
    eps = np.finfo(dtype).eps
    assert np.abs(model.nullified_ @ model.components_.T).max() < 1e3 * eps
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e3 * eps)


def test_rows_read_again_are_no_new_evidence_of_a_mean_gap():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], [600, 400])
    for seed in range(5):
        X = rng.normal(size=(1000, 6)) * [6, 4, 3, 2, 1, 1]
        X[groups == "b", 3] *= 3
        options = {"mean_tol": 10, "block_size": None}
        many = StreamingFairPCA(2, 1, n_blocks=(100, 2), **options).fit(X, sensitive_features=groups)
        assert len(many.nullified_) == 1, f"noise of equal means was removed (seed {seed})"
        moved = X + 3.0 * np.outer(groups == "b", [1, 0, 0, 0, 0, 0])
        kept = StreamingFairPCA(2, 1, n_blocks=(100, 2), **options).fit(moved, sensitive_features=groups)
        assert len(kept.nullified_) == 2


def test_a_component_inside_what_is_removed_is_moved_out():
    axes = np.eye(5)
    last = axes[:, [1, 2, 0]]  # those without variance come last
    options = PowerOptions(3, 0, "mean", "global")
    power = FairPowerMethod(options, np.array([0, 1]), (), np.zeros(5), axes[:, :0], last, U=axes[:, :1])
    assert np.abs(power.U.T @ power.basis).max() == 0.0
    np.testing.assert_allclose(power.basis.T @ power.basis, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(np.abs(power.basis[:, :2]), axes[:, 1:3], atol=1e-15)


def test_strength_is_that_of_the_exact_method(big):
    X, groups = big
    exact = NullItOutPCA(2, 2, strength=0.4, gap="second_moment").fit(X, sensitive_features=groups)
    model = StreamingFairPCA(2, 2, strength=0.4, n_blocks=100).fit(X, sensitive_features=groups)
    assert basis_angle(model.components_, exact.components_) < 1e-8


def test_several_groups_and_attributes():
    three = draw()
    options = {"constraint": "covariance", "gap": "second_moment"}
    exact = NullItOutPCA(2, 1, **options).fit(three.X, sensitive_features=three.groups)
    model = StreamingFairPCA(2, 1, constraint="covariance", n_blocks=2000).fit(three.X, sensitive_features=three.groups)
    assert basis_angle(model.nullified_, exact.nullified_) < 1e-7
    X, groups = two_attributes()
    means = StreamingFairPCA(2, 0, n_blocks=500).fit(X, sensitive_features=groups)
    exact = NullItOutPCA(2, 0).fit(X, sensitive_features=groups)
    assert basis_angle(means.components_, exact.components_) < 1e-8
    assert max(group_gap(means.transform(X), groups[:, j]) for j in range(2)) < 1e-12 * size(X)
    # Three comparisons of two directions and two mean gaps are more than six features have.
    with pytest.raises(ComponentsError, match="at most 0 are possible: 6 feature"):
        StreamingFairPCA(1, 2, n_blocks=2).fit(three.X, sensitive_features=three.groups)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"n_components": 6}, ComponentsError, "at most 5 are possible: 8 feature(s) less 3 removed"),
        ({"n_components": 9, "constraint": "vanilla"}, ComponentsError, "at most 8"),
        ({"n_gap_directions": 8}, ComponentsError, "n_gap_directions=8"),
        ({"center": "mean"}, ConfigurationError, "center='mean'"),
        ({"on_missing": "ignore"}, ConfigurationError, "on_missing='ignore'"),
        ({"min_group": 0}, ConfigurationError, "min_group=0"),
        ({"mean_tol": -1}, ConfigurationError, "mean_tol=-1"),
        ({"gap_tol": 2}, ConfigurationError, "gap_tol=2"),
        ({"dtype": "int8"}, ConfigurationError, "dtype='int8'"),
        ({"n_blocks": 0}, ConfigurationError, "n_blocks=0"),
        ({"n_blocks": (1, 2, 3)}, ConfigurationError, "n_blocks=(1, 2, 3)"),
        ({"block_size": 1.5}, ConfigurationError, "block_size=1.5"),
        ({"strength": -1}, ConfigurationError, "strength=-1"),
        ({"random_state": "x"}, ConfigurationError, "random_state='x'"),
    ],
)
def test_refusals(big, options, error, text):
    X, groups = big
    with pytest.raises(error, match=re.escape(text)):
        StreamingFairPCA(**options).fit(X, sensitive_features=groups)


def test_groups_belong_to_a_table_and_not_to_a_stream(big):
    X, groups = big
    with pytest.raises(GroupError, match="sensitive_features is None"):
        StreamingFairPCA().fit(X)
    with pytest.raises(ConfigurationError, match="bring their own groups"):
        StreamingFairPCA().fit(ArrayStream(X, groups), sensitive_features=groups)
    with pytest.raises(DataError, match="needed are GroupMoments"):
        StreamingFairPCA().fit_moments(X)
    stream = OneShotStream(iter([(X, groups)]))
    list(stream)
    with pytest.raises(DataError, match="only once"):
        StreamingFairPCA(block_size=10).fit(stream)


def test_fresh_rows_reduce_the_error_by_the_root_of_their_number():
    turn = ortho_group.rvs(12, random_state=0)
    scales = np.sqrt([[6, 5, 4, 5.5, 0.5] + [0.5] * 7, [6, 5, 4, 0.5, 5.0] + [0.5] * 7])

    def error(b, seed):
        rng = np.random.default_rng(seed)

        def batches():
            while True:
                codes = rng.integers(0, 2, b)
                X = rng.normal(size=(b, 12)) * scales[codes]
                X[:, 11] += codes
                yield X @ turn, codes

        model = StreamingFairPCA(3, 2, block_size=b, n_blocks=8, random_state=seed).fit(iter(batches()))
        return np.linalg.norm(turn[[3, 4, 11]] @ model.components_.T, 2)

    sizes = np.array([200, 800, 3200])
    errors = [np.median([error(b, seed) for seed in range(9)]) for b in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35


def test_no_warning_is_given_for_a_plain_fit(big):
    X, groups = big
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StreamingFairPCA().fit(X, sensitive_features=groups)
