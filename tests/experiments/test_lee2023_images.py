"""Images in little memory: what the judge measures, how memory is carried on, and claims that can come out false."""

import numpy as np
import pandas as pd
import pytest

from compendium.data.portraits import PortraitStream
from compendium.experiments import experiment, records
from compendium.experiments import lee2023_images as images
from compendium.experiments import lee2023_images_memory as memory
from evenspan.core.errors import ConfigurationError
from evenspan.core.streams import ArrayStream
from evenspan.representation import StreamingFairPCA


@pytest.fixture(scope="module")
def few():
    """The settings on little images, with fewer of them."""
    patch = pytest.MonkeyPatch()
    patch.setitem(images.ROWS, images.SMALL, 256)
    patch.setitem(images.READER_ROWS, images.SMALL, (1024, 768))
    patch.setattr(images, "K", 40)
    patch.setattr(images, "CELEBA_SHARE", 0.3)
    settings = [images.Setting(images.SMALL, name) for name in ("PCA", "mean", images.SHOWN, images.PAIRED)]
    rows = pd.DataFrame([row for one in settings for row in images.judged(one)], columns=images.COLUMNS)
    yield rows
    patch.undo()


def test_pca_keeps_the_glasses_and_the_constraints_do_not(few):
    records.checked(few, "few")
    value = few.set_index(["method", "metric"])["value"]
    change = "kept share of what glasses change"
    assert value["PCA", "AUC (linear)"] > 0.95
    assert value["PCA", change] > 0.8
    for method in ("mean", images.SHOWN, images.PAIRED):
        assert value[method, "AUC (linear)"] < 0.75
        assert value[method, change] < 0.4 * value["PCA", change]
        assert value[method, "constraint residual"] < 1e-5
        assert value[method, "mean gap"] < 0.7 * value["PCA", "mean gap"]
    assert value[images.PAIRED, change] < 0.5 * value["mean", change], "gap directions are worth something"
    assert value["PCA", "explained variance ratio"] > value[images.SHOWN, "explained variance ratio"]
    removed = {name: value[name, "directions removed"] for name in ("PCA", "mean", images.SHOWN)}
    assert removed == {"PCA": 0, "mean": 1, images.SHOWN: 6}
    assert (few[few["metric"] == "peak memory of the process, MiB"]["value"] > 50).all()


def test_the_judge_agrees_with_the_arrays():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 12)) * np.arange(1, 13), (np.arange(300) % 3 == 0).astype(int)
    X[groups == 1] += 2.0
    model = StreamingFairPCA(3, 2, n_blocks=3).fit(X, sensitive_features=groups)
    T, truth, total = images.embedded(model, ArrayStream(X, groups, batch_size=70))
    np.testing.assert_allclose(T, model.transform(X), atol=1e-10)
    np.testing.assert_array_equal(truth, groups)
    assert total["all"] == pytest.approx(X.var(axis=0).sum(axis=0))
    for g in (0, 1):
        assert total[g] == pytest.approx(X[groups == g].var(axis=0).sum(axis=0))
    gap = X[groups == 1].mean(axis=0) - X[groups == 0].mean(axis=0)
    assert total["gap"] == pytest.approx(np.linalg.norm(gap))
    found = {row[1]: row[2] for row in images.judgement(model, ArrayStream(X, groups), ArrayStream(X, groups))}
    kept = model.transform(X).var(axis=0).sum(axis=0) / X.var(axis=0).sum(axis=0)
    assert found["explained variance ratio"] == pytest.approx(kept)
    assert found["mean gap"] < 1e-8 < found["mean gap of the images"]
    change = images.kept_change(model, ArrayStream(X, groups), ArrayStream(X + model.components_[0], groups))
    assert change == pytest.approx(1.0)
    change = images.kept_change(model, ArrayStream(X, groups), ArrayStream(X + model.nullified_[0], groups))
    assert change == pytest.approx(0.0, abs=1e-12)


def test_paired_images_are_in_both_groups():
    setting = images.Setting((16, 16), images.PAIRED)
    images.ROWS[(16, 16)] = 52
    try:
        batches = list(setting.training())
    finally:
        del images.ROWS[(16, 16)]
    X, groups = np.vstack([X for X, _ in batches]), np.concatenate([g for _, g in batches])
    assert len(X) == 260
    assert groups.sum(axis=0) == 130
    half = len(batches[0][0]) // 2
    change = np.abs(batches[0][0][:half] - batches[0][0][half:]).reshape(half, 16, 16, 3)
    assert change[:, :3].max(axis=None) < 0.05 < 0.3 < change[:, 6:10].max(axis=None), "only the glasses differ"


def test_blocks_read_the_same_images():
    for blocks in images.BLOCK_ABLATION:
        estimator = images.Setting(images.HALF, images.SHOWN, blocks).estimator()
        first, second = estimator.block_size
        assert first * blocks == second * images.BLOCKS == 5 * 2560


def made_peaks(**bytes_of) -> pd.DataFrame:
    """Peaks as if every method took exactly the given bytes."""
    rows = []
    for method, work in bytes_of.items():
        name = {"fnpm": memory.STREAMED, "mean": memory.STREAMED_MEAN}.get(method, method)
        rows += [(name, memory.K, n, d, work(n, d)) for n, d in (*memory.POINTS, *memory.WIDE)]
    rows += [(memory.STREAMED, memory.LARGEST_K, 512, d, bytes_of["fnpm"](512, d)) for d in (6250, 12_500, 50_000)]
    frame = [
        (memory.DATASET, name, k, 0, "peak allocation", f"bytes, n = {n}, d = {d}", 2, float(value))
        for name, k, n, d, value in rows
    ]
    return pd.DataFrame(frame, columns=images.COLUMNS)


def test_memory_is_carried_on_as_it_was_made():
    peaks = made_peaks(
        square=lambda n, d: 80 * d * d + 100 * d,
        rows=lambda n, d: 8 * n * d + 50 * n,
        pairs=lambda n, d: 24 * n * n + 8 * n * d,
        fnpm=lambda n, d: 900 * d,
        mean=lambda n, d: 800 * d,
    )
    found = memory.models(peaks).set_index("method")
    assert (found["error"] < 1e-6).all()
    assert found.loc["square", "d^2"] == pytest.approx(80, rel=1e-6)
    assert found.loc["square", "most features"] == pytest.approx(np.sqrt(memory.LIMIT / 80), rel=1e-3)
    assert found.loc["rows", "most features"] == pytest.approx(memory.LIMIT / 8 / 162_770, rel=0.01)
    assert found.loc["pairs", "most features"] == 0.0, "635 GB for all pairs"
    assert found.loc[memory.STREAMED, "most features"] == pytest.approx(memory.LIMIT / 900, rel=1e-3)
    assert found.loc[memory.STREAMED, "bytes at full size"] == pytest.approx(900 * 116_412, rel=1e-3)
    both = pd.concat([peaks.assign(source="this build", value=1.0), peaks.assign(source="full run")])
    assert memory.models(both).set_index("method").loc["square", "d^2"] == pytest.approx(80, rel=1e-6)


def test_what_is_measured_is_the_memory():
    rows = pd.DataFrame(
        memory.memory_rows(points=((128, 32), (256, 64)), wide=((128, 400), (256, 800)), largest=1600,
                           methods=("Fair PCA", "Fair Kernel PCA", memory.STREAMED)),
        columns=images.COLUMNS,
    )  # fmt: skip
    records.checked(rows, "memory")
    value = memory.sizes(rows).set_index(["method", "n", "d"])["value"]
    assert value["Fair PCA", 256, 64] > 2 * 8 * 64 * 64
    assert value["Fair Kernel PCA", 256, 64] > 2 * 8 * 256 * 256
    assert value["Fair Kernel PCA", 256, 64] > 3 * value["Fair Kernel PCA", 128, 32]
    assert value[memory.STREAMED, 256, 800] < 8 * 800 * 800
    assert memory.largest_runs(rows)[1] == pytest.approx(1.0, abs=0.15)


def test_memory_claims_can_come_out_either_way(reads):
    def answers(**bytes_of):
        peaks = made_peaks(square=lambda n, d: 80 * d * d, **bytes_of)
        reads(memory, peaks)
        return memory.little_memory()[0], memory.most_scalable()[0]

    tall = lambda c: lambda n, d: c * d  # noqa: E731
    unit = 4 * (memory.LARGEST_K + memory.M + memory.LARGEST_BATCH)
    assert answers(fnpm=tall(3 * unit), mean=tall(3 * unit)) == ("holds", "holds in part")
    assert answers(fnpm=tall(7 * unit), mean=tall(70 * unit)) == ("holds in part", "holds")
    assert answers(fnpm=lambda n, d: 90 * d * d, mean=tall(unit)) == ("does not hold", "does not hold")
    whole = ("portraits-218x178", images.SHOWN, 100, 0, "fit", "peak memory of the process, MiB", 5, 700.0)
    both = pd.concat([made_peaks(fnpm=tall(unit)), pd.DataFrame([whole], columns=images.COLUMNS)])
    reads(memory, both)
    assert "reaches 700 MiB in all" in memory.little_memory()[1]
    reads(memory, made_peaks(fnpm=tall(1)).iloc[:0])
    assert memory.little_memory() is None
    assert memory.most_scalable() is None


def test_the_size_of_celeba(monkeypatch):
    answer, evidence, _ = memory.too_large_to_load()
    assert answer == "holds in part"
    assert "18.9 GB as single bytes, 75.8 GB as 32-bit numbers" in evidence
    assert "3 of the 4 combinations do not fit" in evidence
    monkeypatch.setattr(memory, "rule", lambda claim, name: 8e9)
    assert memory.too_large_to_load().here == "holds"
    monkeypatch.setattr(memory, "rule", lambda claim, name: 128e9)
    assert memory.too_large_to_load().here == "does not hold"


def test_the_claim_on_glasses_holds_at_most_in_part(reads, few):
    full = few.assign(dataset="portraits-218x178")
    half = few.assign(dataset="portraits-109x89")

    def answer(rows):
        reads(images, rows)
        return images.glasses_removed()

    assert answer(full.iloc[:0]) is None
    assert answer(full[full["method"] == "PCA"]) is None
    alone, both = answer(full), answer(pd.concat([full, half]))
    assert alone[0] == both[0] == "holds in part"
    assert "At half the height" in both[1]
    assert "At half the height" not in alone[1]
    assert "substitute" in alone[1]
    same = full[full["method"] == "PCA"]
    assert answer(pd.concat([same, same.assign(method=images.SHOWN)])).here == "does not hold"


def test_tables_have_a_line_for_every_setting(few):
    rows = pd.concat([few.assign(source="this build"), few.assign(source="full run", dataset="portraits-109x89")])
    more = few[few["method"] == images.SHOWN].assign(source="this build", blocks=20)
    found = images.by_setting(pd.concat([rows, more]), "rank")
    assert found["method"].tolist()[:4] == ["PCA", "mean", images.SHOWN, images.PAIRED]
    assert len(found) == 8
    found = images.by_setting(pd.concat([rows, more]), "blocks")
    assert found[found["source"] == "this build"]["blocks"].tolist() == [5, 20]


def test_examples_are_pictures(monkeypatch):
    monkeypatch.setitem(images.ROWS, (24, 20), 104)
    shown = images.examples((24, 20), number=2)
    assert next(iter(shown)) == "as they are"
    assert {image.shape for image in shown.values()} == {(4, 24, 20, 3)}
    assert all(image.min(axis=None) >= 0.0 and image.max(axis=None) <= 1.0 for image in shown.values())
    assert not any(name == "removed, PCA" for name in shown)


def test_whoever_has_celeba_gets_the_same_rows():
    fit, learn, judge = (PortraitStream(n, size=(16, 16), share=0.3, seed=n) for n in (256, 300, 200))
    found = images.on_celeba(fit, learn, judge, k=10, m=2, n_blocks=2, block_size=128)
    records.checked(found, "celeba")
    value = found.set_index(["method", "metric"])["value"]
    assert set(found["method"]) == {"PCA", "m = 2"}
    assert set(found["k"]) == {10}
    assert value["m = 2", "mean gap"] < value["PCA", "mean gap"]
    assert value["m = 2", "explained variance ratio"] < value["PCA", "explained variance ratio"]


def test_wrong_parameters_are_refused_and_tasks_cover_the_protocol():
    with pytest.raises(ConfigurationError, match="k=3; this experiment keeps"):
        images.run(3)
    tasks = images.tasks()
    assert {"part": "full size", "setting": images.SHOWN} in tasks
    assert experiment("lee2023-images").tasks()["memory"] == {"part": "memory"}, "claims read it by this name"
    assert sum(task["part"] == "rank" for task in tasks) == len(images.SETTINGS)
