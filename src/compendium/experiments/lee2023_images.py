"""The experiment of Lee et al. (2023) on images in their original resolution, on a **substitute** for CelebA.

CelebA's licence keeps it out of this project; ``on_celeba`` runs the experiment for those who have it. What is run here
instead are made portraits (:mod:`compendium.data.portraits`) of the same 218 x 178 x 3 = 116,412 values, glasses on
the same share of them, drawn batch by batch and never held. The paper passes 162,770 images in each phase and keeps
1,000 components; here it is 10,240 images in each phase and 100 components, and the ablations are at half the height
and width. What the glasses change is known exactly, so that what is left of it can be told without a reader as well.
"""

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenspan import metrics
from evenspan.core.errors import ConfigurationError
from evenspan.core.moments import GroupMoments
from evenspan.core.streams import FunctionStream, Stream
from evenspan.representation import StreamingFairPCA

from ..data.portraits import CELEBA_SHARE, CELEBA_SIZE, PortraitStream, portraits
from .claim_rules import Answer, by_parts, rule
from .lee2023_images_memory import EMBEDDED, memory_rows
from .lee2023_images_memory import claims as memory_claims
from .records import peak_memory
from .store import read_results

SEED = 2023
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "blocks", "value"]
HALF, SMALL = (109, 89), (54, 44)
#: Components; power steps of both phases; images of a block at full and at half size, and in every build of the book.
K, BLOCKS = 100, 5
ROWS = {CELEBA_SIZE: 2048, HALF: 2560, SMALL: 1024}
#: What is removed: nothing, the difference of the means, or that and m directions of the gap. "paired" is ours: every
#: image is in both groups, without and with glasses, so that the groups differ by nothing but the glasses.
SHOWN, PAIRED = "m = 5", "m = 5, paired"
SETTINGS = {"PCA": ("vanilla", 0), "mean": ("mean", 0)} | {f"m = {m}": ("all", m) for m in (1, 2, 5, 10)}
SETTINGS |= {PAIRED: ("all", 5)}
#: Blocks of the first phase over the same images; the second keeps its five.
BLOCK_ABLATION = (5, 20, 50)
#: Seeds of the images for the fit, for the readers to learn from, and for the judge; and how many the latter two are.
FITTED, READ, JUDGED = SEED, SEED + 1, SEED + 2
READER_ROWS = {CELEBA_SIZE: (3072, 2048), HALF: (4096, 3072), SMALL: (3072, 2048)}
#: Images on which the planted change is measured.
PLANTED = 256
#: What the rows of ``on_celeba`` are called.
CELEBA = "celeba"


def tasks() -> list[dict]:
    """One unit of work for each fit, and one for the memory of all methods."""
    full = [{"part": "full size", "setting": name} for name in ("PCA", SHOWN)]
    rank = [{"part": "rank", "setting": name} for name in SETTINGS]
    blocks = [{"part": "blocks", "blocks": number} for number in BLOCK_ABLATION if number != BLOCKS]
    return [*full, *rank, *blocks, {"part": "memory"}]


def run_task(part: str, setting: str = SHOWN, blocks: int = BLOCKS) -> pd.DataFrame:
    """One fit with its judgement; or the memory of all methods."""
    if part == "memory":
        return _frame(memory_rows())
    size = CELEBA_SIZE if part == "full size" else HALF
    return _frame(judged(Setting(size, setting, blocks)))


def run(k: int) -> pd.DataFrame:
    """All settings and numbers of blocks on images of a quarter of the height and width; memory at smaller sizes."""
    if k != K:
        raise ConfigurationError(f"k={k}; this experiment keeps {K} components.")
    chosen = [Setting(SMALL, name) for name in SETTINGS]
    chosen += [Setting(SMALL, SHOWN, blocks) for blocks in BLOCK_ABLATION if blocks != BLOCKS]
    frames = [_frame(judged(one)) for one in chosen]
    return pd.concat([*frames, _frame(memory_rows(**EMBEDDED))], ignore_index=True)


@dataclass(frozen=True)
class Setting:
    """A fit: size of the images, what is removed, and number of blocks of the first phase."""

    size: tuple[int, int]
    name: str
    blocks: int = BLOCKS

    @property
    def dataset(self) -> str:
        """The name under which the results are kept."""
        return f"portraits-{self.size[0]}x{self.size[1]}"

    def estimator(self) -> StreamingFairPCA:
        """Five blocks in the second phase; the first reads as many images, in its own number of blocks."""
        constraint, m = SETTINGS[self.name]
        blocks, rows = (self.blocks, BLOCKS), ROWS[self.size]
        sizes = (BLOCKS * rows // self.blocks, rows)
        return StreamingFairPCA(K, m, constraint=constraint, n_blocks=blocks, block_size=sizes, random_state=SEED)

    def stream(self, seed: int, rows: int, **options) -> PortraitStream:
        """Portraits of this size."""
        return PortraitStream(rows, size=self.size, share=CELEBA_SHARE, seed=seed, **options)

    def training(self) -> Stream:
        """What the fit reads: each image once, or half as many both without and with glasses."""
        rows = BLOCKS * ROWS[self.size]
        if self.name != PAIRED:
            return self.stream(FITTED, rows)

        def pairs():
            both = (self.stream(FITTED, rows // 2, batch_size=128, glasses=who) for who in ("none", "all"))
            for (without, _), (with_, _) in zip(*both, strict=True):
                yield np.vstack([without, with_]), np.repeat([0, 1], [len(without), len(with_)])

        return FunctionStream(pairs)


def fitted(setting: Setting) -> tuple[StreamingFairPCA, list[tuple]]:
    """The fit with its time and memory; some images are drawn without a fit as well, to know what the drawing takes."""
    rows = BLOCKS * ROWS[setting.size]
    start = time.perf_counter()
    model = setting.estimator().fit(setting.training())
    whole = time.perf_counter() - start
    peak = peak_memory()
    passes = 1 if SETTINGS[setting.name][0] == "vanilla" else 2
    drawing, d = _drawing(setting, 1024) * rows * passes, model.n_features_in_
    values = {
        "images in each phase": rows, "features": d, "directions removed": len(model.nullified_), "seconds": whole,
        "seconds without drawing": max(whole - drawing, 0.0), "images per second": rows * passes / whole,
        "peak memory of the process, MiB": peak, "d x d matrix, MiB": 4 * d * d / 2**20,
        "all images, MiB": 4 * d * rows / 2**20, "residual": model.residual_,
        "largest relative gap": float(model.relative_gaps_.max(initial=0.0)),
        "constraint residual": float(np.abs(model.components_ @ model.nullified_.T).max(initial=0.0)),
    }  # fmt: skip
    return model, [("fit", metric, float(value)) for metric, value in values.items()]


def _drawing(setting: Setting, rows: int) -> float:
    start = time.perf_counter()
    for _ in setting.stream(READ, rows):
        pass
    return (time.perf_counter() - start) / rows


# -- the judge --------------------------------------------------------------------------------------------------------


def judged(setting: Setting) -> list[tuple]:
    """All rows of one fit."""
    model, found = fitted(setting)
    learn, judge = (
        setting.stream(seed, rows) for seed, rows in zip((READ, JUDGED), READER_ROWS[setting.size], strict=True)
    )
    found += judgement(model, learn, judge)
    none, every = (setting.stream(JUDGED, PLANTED, glasses=who) for who in ("none", "all"))
    found += [("planted", "kept share of what glasses change", kept_change(model, none, every))]
    return [(setting.dataset, setting.name, K, 0, *row[:2], setting.blocks, row[2]) for row in found]


def judgement(model: StreamingFairPCA, learn: Stream, judge: Stream) -> list[tuple]:
    """What the projection keeps of images that it has not seen, and what readers fitted to others find in them."""
    (E, groups), (T, truth, total) = embedded(model, learn)[:2], embedded(model, judge)
    moments = GroupMoments.from_data(T, truth)
    found = [("held-out", "explained variance ratio", float(_variances(T).sum(axis=0) / total["all"]))]
    for g, name in ((0, "without"), (1, "with")):
        ratio = float(_variances(T[truth == g]).sum(axis=0) / total[g])
        found.append(("held-out", f"explained variance ratio {name} glasses", ratio))
    found += [
        ("held-out", "share of glasses", float(truth.mean(axis=0))),
        ("held-out", "mean gap", metrics.mean_gap(moments)),
        ("held-out", "mean gap of the images", total["gap"]),
        ("held-out", "covariance gap", metrics.covariance_gap(moments)),
    ]
    for reader in metrics.READERS:
        scores = metrics.reader_scores(reader, E, groups == 1, T)
        found.append(("held-out", f"AUC ({reader})", metrics.auc(truth == 1, scores)))
    return found


def embedded(model: StreamingFairPCA, stream: Stream) -> tuple[np.ndarray, np.ndarray, dict]:
    """Embedding (n, k) and groups (n,) of a stream; also the variance of the images, overall and by group, and f."""
    V, parts, labels = model.components_.T, [], []
    origin, sums, squares, counts = model.mean_.astype(V.dtype), {}, {}, {}
    for X, groups in stream:
        X = X - origin
        parts.append(X @ V)
        labels.append(groups)
        lengths = np.einsum("qd,qd->q", X, X, dtype=np.float64)
        for g in (0, 1):
            inside = groups == g
            sums[g] = sums.get(g, 0.0) + inside.astype(X.dtype) @ X
            squares[g] = squares.get(g, 0.0) + float(lengths[inside].sum(axis=0))
            counts[g] = counts.get(g, 0) + int(inside.sum(axis=0))
    means = {g: sums[g] / counts[g] for g in sums}
    total = {g: squares[g] / counts[g] - float(means[g] @ means[g]) for g in sums}
    n, mean = sum(counts.values()), sum(sums.values()) / sum(counts.values())
    total |= {"all": sum(squares.values()) / n - float(mean @ mean)}
    total |= {"gap": float(np.linalg.norm(means[1] - means[0]))}
    return np.vstack(parts).astype(np.float64), np.concatenate(labels), total


def kept_change(model: StreamingFairPCA, none: Stream, every: Stream) -> float:
    """Of the squared change that glasses make to images, the share that the projection keeps."""
    kept = whole = 0.0
    for (plain, _), (worn, _) in zip(none, every, strict=True):
        change = worn - plain
        kept += float(np.linalg.norm(change @ model.components_.T)) ** 2
        whole += float(np.linalg.norm(change)) ** 2
    return kept / whole


def on_celeba(
    stream: Stream, learn: Stream, judge: Stream, *, k: int = 1000, m: int = 5, n_blocks=5, block_size=32_554
) -> pd.DataFrame:
    """The experiment on CelebA itself, for those who have its images, with the sizes of the paper.

    Parameters
    ----------
    stream, learn, judge : Stream
        Images to fit on, for the readers to learn from, and to judge by: ``datasets.celeba.celeba_stream``.
    k, m : int
        Components, and directions of the gap to remove.
    n_blocks, block_size : int or pair of int
        As in ``StreamingFairPCA``.

    Returns
    -------
    DataFrame
        Rows as those of the substitute, for PCA and for the method.
    """
    rows = []
    for name, constraint in (("PCA", "vanilla"), (f"m = {m}", "all")):
        model = StreamingFairPCA(k, m, constraint=constraint, n_blocks=n_blocks, block_size=block_size).fit(stream)
        rows += [("celeba", name, k, 0, *row[:2], BLOCKS, row[2]) for row in judgement(model, learn, judge)]
    return _frame(rows)


def _variances(T: np.ndarray) -> np.ndarray:
    return T.var(axis=0)


def _frame(rows: list) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


# -- tables and pictures ----------------------------------------------------------------------------------------------


def examples(size: tuple[int, int] = SMALL, number: int = 3) -> dict[str, np.ndarray]:
    """Images with and without glasses: as they are, under each method, and what is removed; (2 number, h, w, 3) each.

    Fitted anew, because pictures are not kept among the results. Values are scaled back to between 0 and 1 and cut off.
    """
    X, groups = portraits(0, 400, size=size, seed=JUDGED)
    chosen = np.concatenate([np.flatnonzero(groups == g)[:number] for g in (1, 0)])
    X = X[chosen]
    shown = {"as they are": X}
    for name in ("PCA", SHOWN, PAIRED):
        setting = Setting(size, name)
        model = setting.estimator().fit(setting.training())
        centred = X - model.mean_.astype(X.dtype)
        shown[f"restored, {name}"] = model.mean_ + centred @ model.components_.T @ model.components_
        if len(model.nullified_):
            shown[f"removed, {name}"] = centred @ model.nullified_.T @ model.nullified_
    return {name: np.clip((image.reshape(-1, *size, 3) + 1.0) / 2.0, 0.0, 1.0) for name, image in shown.items()}


def by_setting(rows: pd.DataFrame, part: str) -> pd.DataFrame:
    """One line a setting and source, the metrics across; "rank" compares what is removed, "blocks" how it is found."""
    some = rows[rows["dataset"].str.startswith("portraits")]
    some = some[some["blocks"] == BLOCKS] if part == "rank" else some[some["method"] == SHOWN]
    keys = [*(["source"] if "source" in some else []), "dataset", "method", "blocks"]
    wide = some.pivot_table(index=keys, columns="metric", values="value", sort=False).reset_index()
    order = {name: place for place, name in enumerate(SETTINGS)}
    return wide.sort_values(
        [*keys[:-2], "method", "blocks"], key=lambda c: c.map(order) if c.name == "method" else c, ignore_index=True
    )


def rows_half(method: str) -> pd.Series | None:
    """The stored metrics of one setting of the rank ablation; None where one is missing."""
    rows = read_results("lee2023-images", dataset=Setting(HALF, SHOWN).dataset, blocks=BLOCKS)
    wanted = {"mean", SHOWN, PAIRED}
    return rows[rows["method"] == method].set_index("metric")["value"] if wanted <= set(rows["method"]) else None


def removed_on_celeba(rows: pd.DataFrame) -> Answer:
    """The answer to L09 where CelebA was at hand: how much of what PCA lets readers find is left by the method."""
    value = rows.set_index(["method", "metric"])["value"]
    areas = {r: [value[name, f"AUC ({r})"] for name in ("PCA", SHOWN)] for r in metrics.READERS}
    fell = [_fell(before, after) for before, after in areas.values()]
    told = ", ".join(f"of a {reader} reader {a:.3f} and {b:.3f}" for reader, (a, b) in areas.items())
    evidence = f"CelebA, area under the ROC curve on held-out images, before and after: {told}."
    return Answer(by_parts(fell), evidence)


def _fell(before: float, after: float, chance: float = 0.5) -> bool:
    return bool(after - chance < rule("L09", "left of what is read") * (before - chance))


def glasses_removed() -> Answer | None:
    """L09: the information on eyeglasses is removed, judged where rows of CelebA are stored (``on_celeba``).

    CelebA is not at hand here, so that no answer from the substitute is more than in part.
    """
    rows = read_results("lee2023-images", dataset=CELEBA)
    if len(rows):
        return removed_on_celeba(rows)
    rows = read_results("lee2023-images", dataset=Setting(CELEBA_SIZE, SHOWN).dataset)
    value = rows.set_index(["method", "metric"])["value"]
    if not {"PCA", SHOWN} <= set(rows["method"]):
        return None
    before, after = value["PCA"], value[SHOWN]
    areas = {reader: (before[f"AUC ({reader})"], after[f"AUC ({reader})"]) for reader in metrics.READERS}
    change = "kept share of what glasses change"
    text = ", ".join(f"of a {reader} reader {a:.3f} and {b:.3f}" for reader, (a, b) in areas.items())
    ours, variance = rows_half(PAIRED), "explained variance ratio"
    evidence = (
        "CelebA is not at hand: its licence keeps it out of this project. On a substitute, made portraits of its size "
        f"(d = {int(after['features']):,}) with glasses on {100 * after['share of glasses']:.1f} %, "
        f"{int(after['images in each phase']):,} images in each phase, k = {K}, {SHOWN}: area under the ROC curve on "
        f"held-out images, before and after, {text}. Of the squared change that glasses make, PCA keeps "
        f"{100 * before[change]:.1f} %, the method {100 * after[change]:.1f} %; variance kept "
        f"{100 * before[variance]:.1f} % and {100 * after[variance]:.1f} %."
    )
    if ours is not None:
        mean, same = rows_half("mean"), rows_half(SHOWN)
        evidence += (
            f" At half the height and width the mean constraint alone leaves {100 * mean[change]:.1f} % of the change, "
            f"{SHOWN} leaves {100 * same[change]:.1f} % and keeps {100 * same[variance]:.1f} % of the variance; fitted "
            "to images that are all in both groups, so that chance differences of other things cancel, it leaves "
            f"{100 * ours[change]:.1f} % and keeps {100 * ours[variance]:.1f} %."
        )
    fell = [_fell(a, b) for a, b in areas.values()] + [_fell(before[change], after[change], chance=0.0)]
    return Answer("holds in part" if any(fell) else "does not hold", evidence)


claims = memory_claims | {"L09": glasses_removed}
