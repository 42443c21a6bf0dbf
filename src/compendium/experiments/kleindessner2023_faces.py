"""A concept erased from faces: the last figure of Kleindessner et al. (2023), on a substitute and on made images.

The paper erases glasses from CelebA, whose licence keeps it out of this project; whoever has it can call ``on_celeba``.
What is shown instead are (1) the LFW faces at 24 x 24 pixels with sex as the attribute, a **substitute**, and (2)
**synthetic** pictures with a bar planted across the eyes of 30 % of them, in one place or in a place that varies.

Of real people only means over a group, or over at least 50 of them, are kept as pictures.
"""

import csv
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from evenspan import metrics
from evenspan.core.errors import ConfigurationError, DataError
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import StandardPCA
from evenspan.representation import LEACE, FairPCA

from ..data import Dataset, entry, load
from ..data.celeba import celeba_batches, load_celeba
from ..data.faces import PER_GROUP, SIDE
from ..data.faces import SEED as DRAWN_WITH
from ..data.fetch import fetch_file
from .claim_rules import Answer, by_parts, rule
from .store import read_results

SEED = 2023
SUBSTITUTE = "lfw_24x24"
#: What the rows of ``on_celeba`` are called.
CELEBA = "celeba"
#: Area under the ROC curve of a reader that finds nothing.
CHANCE = 0.5
#: Synthetic pictures: the bar always in one place, or up to two pixels higher or lower.
MADE = {"planted bar": 0, "moving bar": 2}
COMPONENTS = (50, 200, SIDE * SIDE - 1)
SPLITS, FOLDS, SLICES = 3, 5, 4
MADE_SIZE, SHARE = 600, 0.3
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "pixel"]

METHODS = {"PCA": StandardPCA, "Fair PCA": FairPCA, "LEACE": LEACE}
#: Means over fewer images than these are never kept; LEACE looks like Fair PCA and is not kept as a picture.
SMALLEST, PICTURED = 50, ("PCA", "Fair PCA")
#: Grey values of stored pictures are rounded to this many decimals: a quarter of a grey level.
DECIMALS = 3


def tasks() -> list[dict]:
    """The substitute and the synthetic pictures, one unit of work for each number of components."""
    return [{"dataset": SUBSTITUTE, "k": k} for k in COMPONENTS] + [{"k": k} for k in COMPONENTS]


def run_task(k: int, dataset: str | None = None) -> pd.DataFrame:
    """All methods on every split of the substitute, or on the synthetic pictures if no data set is named."""
    if dataset is None:
        return run(k)
    if dataset != SUBSTITUTE:
        raise ConfigurationError(f"dataset={dataset!r}; needed is {SUBSTITUTE}.")
    faces, names = load(dataset), people()
    rows = []
    for split in range(SPLITS):
        train, test = halves(faces, names, split)
        rows += judged(dataset, k, split, train, test, shown=split == 0)
    return pd.DataFrame(rows, columns=COLUMNS)


def run(k: int) -> pd.DataFrame:
    """The synthetic pictures."""
    if k not in COMPONENTS:
        raise ConfigurationError(f"k={k}; needed is one of {', '.join(map(str, COMPONENTS))}.")
    rows = []
    for name in MADE:
        rows += judged(name, k, 0, *made(name), shown=False)
    return pd.DataFrame(rows, columns=COLUMNS)


def on_celeba(folder, k: int, attribute: str = "Eyeglasses", *, size=(50, 50), limit: int = 5000) -> pd.DataFrame:
    """The experiment on CelebA itself, for those who have its images; no picture is kept.

    Parameters
    ----------
    folder : str or Path
        CelebA's own layout, see ``datasets.celeba.load_celeba``.
    k : int
        Number of components, below the number of pixels.
    attribute : str
        What to erase.
    size : tuple of int
        Height and width of the shrunk images.
    limit : int
        Images of the training and of the test part that the readers see. The projections are fitted to the moments of
        the whole training part.

    Returns
    -------
    DataFrame
        Rows as those of the substitute.
    """
    moments = GroupMoments.from_batches(celeba_batches(folder, attribute, size))
    train, test = (load_celeba(folder, attribute, size, partition=part, limit=limit) for part in ("train", "test"))
    return pd.DataFrame(judged("celeba", k, 0, train, test, shown=False, moments=moments), columns=COLUMNS)


# -- samples ----------------------------------------------------------------------------------------------------------


def people() -> np.ndarray:
    """Name of the person on every image of the substitute, in the order of its rows."""
    with fetch_file(entry(SUBSTITUTE), "lfw24_sources.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    male = np.array([int(line["male"]) for line in lines])
    rng = np.random.default_rng(DRAWN_WITH)  # as the loader draws
    rows = np.sort(np.concatenate([rng.choice(np.flatnonzero(male == g), PER_GROUP, replace=False) for g in (0, 1)]))
    return np.array([lines[row]["name"].rpartition("_")[0] for row in rows])


def halves(faces: Dataset, names: np.ndarray, split: int) -> tuple[Dataset, Dataset]:
    """Half of the people to fit on, the others to judge by: nobody is in both parts."""
    if len(names) != faces.n:
        raise DataError(f"{len(names)} names for {faces.n} images; needed is one for each.")
    persons = np.unique(names)
    chosen = np.random.default_rng((SEED, split)).permutation(persons)[: len(persons) // 2]
    first = np.isin(names, chosen)
    return tuple(
        Dataset(faces.name, faces.X[rows], faces.y[rows], faces.groups[rows], faces.feature_names, part, split)
        for rows, part in ((first, "train"), (~first, "test"))
    )


def made(name: str, n: int = MADE_SIZE) -> tuple[Dataset, Dataset]:
    """Synthetic pictures, n to fit on and n to judge by: a bright oval, smooth noise, and for some a dark bar."""
    reach = MADE[name]
    parts = []
    for place, part in enumerate(("train", "test")):
        rng = np.random.default_rng((SEED, reach, place))
        height, width = np.mgrid[0:SIDE, 0:SIDE] / (SIDE - 1.0)
        oval = 0.35 + 0.4 / (1.0 + np.exp(30.0 * (np.hypot((height - 0.5) / 0.46, (width - 0.5) / 0.36) - 1.0)))
        waves = np.array([np.cos(np.pi * a * height) * np.cos(np.pi * b * width) / (1.0 + a + b)
                          for a in range(6) for b in range(6) if a + b])  # fmt: skip
        noise = np.tensordot(rng.normal(scale=0.08, size=(n, len(waves))), waves, axes=1)
        groups = (rng.random(n) < SHARE).astype(int)
        shift, strength = rng.integers(-reach, reach + 1, size=n), rng.uniform(0.25, 0.45, size=n)
        rows = np.arange(SIDE)[None, :, None] - 9 - shift[:, None, None]
        bar = ((rows >= 0) & (rows < 3)) & ((width > 0.18) & (width < 0.82))
        images = oval + noise - (groups * strength)[:, None, None] * bar + rng.normal(scale=0.01, size=noise.shape)
        names = tuple(f"pixel_{r:02d}_{c:02d}" for r in range(SIDE) for c in range(SIDE))
        X = np.clip(images, 0.0, 1.0).reshape(n, -1)
        parts.append(Dataset(name, X, groups.copy(), groups, names, part, 0))
    return tuple(parts)


# -- the judge --------------------------------------------------------------------------------------------------------


def judged(
    dataset: str, k: int, split: int, train: Dataset, test: Dataset, *, shown: bool, moments: GroupMoments | None = None
) -> list[tuple]:
    """All rows of one split; pictures only if ``shown``."""
    moments = GroupMoments.from_data(train.X, train.groups) if moments is None else moments
    gap = moments.means[1] - moments.means[0]
    rows = []
    for name, make in METHODS.items():
        fitted = make(k).fit_moments(moments)
        E, T = fitted.transform(train.X), fitted.transform(test.X)
        error = np.mean((test.X - fitted.inverse_transform(T)) ** 2, axis=None)
        found = [("held-out", "mean squared error", float(error))]
        found += [("in sample", "mean gap", metrics.mean_gap(GroupMoments.from_data(E, train.groups)))]
        found += [("held-out", "mean gap", metrics.mean_gap(GroupMoments.from_data(T, test.groups)))]
        found += [("held-out", "share of the larger group", float(np.bincount(test.groups).max(axis=0) / test.n))]
        for reader in metrics.READERS:
            found += _read(reader, (E, train.groups), (T, test.groups))
        rows += [(dataset, name, k, split, *row, None) for row in found]
        if shown:
            rows += [
                (dataset, name, k, split, part, f"picture: {title}", round(float(value), DECIMALS), pixel)
                for part, title, image in _shown(name, fitted, test, gap / np.linalg.norm(gap))
                for pixel, value in enumerate(image)
            ]
    return rows


def _read(reader: str, train: tuple, test: tuple) -> Iterator[tuple[str, str, float]]:
    """Accuracy and area of a reader fitted with the projection's own sample, and of one fitted to other people.

    The last is a reader whose labels the projection has not seen: fitted to four fifths of the test part, scored on the
    rest, in turn.
    """
    scores = metrics.reader_scores(reader, *train, test[0])
    yield from _scored("held-out", reader, scores, test[1])
    scores = np.empty(len(test[1]))
    for fitting, scoring in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(*test):
        scores[scoring] = metrics.reader_scores(reader, test[0][fitting], test[1][fitting], test[0][scoring])
    yield from _scored("new reader", reader, scores, test[1])


def _scored(protocol: str, reader: str, scores: np.ndarray, groups: np.ndarray) -> Iterator[tuple[str, str, float]]:
    yield protocol, f"accuracy ({reader})", metrics.accuracy(groups, (scores > 0).astype(int))
    yield protocol, f"AUC ({reader})", metrics.auc(groups, scores)


def _shown(name: str, fitted, test: Dataset, direction: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """Means of the test part: of each group, and of quarters along the direction in which the group means differ."""
    if name not in PICTURED:
        return
    along = np.argsort(test.X @ direction, kind="stable")
    subsets = {f"group {g}": np.flatnonzero(test.groups == g) for g in (0, 1)}
    subsets |= {f"quarter {i + 1}": part for i, part in enumerate(np.array_split(along, SLICES))}
    for title, rows in subsets.items():
        if len(rows) < SMALLEST:
            raise DataError(
                f"{title} has {len(rows)} images; a mean over fewer than {SMALLEST} would show single people."
            )
        if name == "PCA":
            yield "original", title, test.X[rows].mean(axis=0)
        yield "restored", title, fitted.inverse_transform(fitted.transform(test.X[rows])).mean(axis=0)
    if name == "PCA":
        yield "original", "direction", direction


# -- tables and pictures ----------------------------------------------------------------------------------------------


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean, smallest and largest value over the splits, without the pictures."""
    some = rows[~rows["metric"].str.startswith("picture: ")]
    keys = ["dataset", "method", "k", "protocol", "metric", *(["source"] if "source" in some else [])]
    found = some.groupby(keys, sort=False)["value"].agg(mean="mean", smallest="min", largest="max", splits="size")
    order = {name: place for place, name in enumerate(METHODS)}
    return found.reset_index().sort_values(
        "method", key=lambda names: names.map(order), kind="stable", ignore_index=True
    )


def reader_areas(found: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Areas of a ``summary`` for a figure: column ``reader`` tells which reader, and to whom it was fitted."""
    some = found[(found["dataset"] == dataset) & found["metric"].str.startswith("AUC")]
    parts = []
    for reader in metrics.READERS:
        for protocol, where in (("held-out", "fitted with the projection"), ("new reader", "fitted to others")):
            one = some[(some["metric"] == f"AUC ({reader})") & (some["protocol"] == protocol)]
            parts.append(one.assign(reader=f"{reader} reader,\n{where}"))
    return pd.concat(parts, ignore_index=True)


def every_k(rows: pd.DataFrame) -> pd.DataFrame:
    """The summary over all numbers of components: those of the stored full run, and the rows at hand."""
    own = rows.drop(columns="source", errors="ignore")
    both = pd.concat([own, read_results("kleindessner2023-faces").drop(columns="task")], ignore_index=True)
    return summary(both.drop_duplicates([name for name in COLUMNS if name != "value"]))


def drawn(found: pd.DataFrame) -> str:
    """The data set to draw: the substitute where it has been run, otherwise the synthetic pictures."""
    return SUBSTITUTE if SUBSTITUTE in set(found["dataset"]) else "moving bar"


def shown_source(found: pd.DataFrame) -> str:
    """The full run where it is stored, otherwise this build."""
    return "full run" if "full run" in set(found["source"]) else "this build"


def gallery(rows: pd.DataFrame) -> pd.DataFrame:
    """Stored pictures of the substitute as a grid: subsets across; originals and restored means of each method down."""
    some = rows[(rows["dataset"] == SUBSTITUTE) & rows["metric"].str.startswith("picture: ")]
    row = some["method"].where(some["protocol"] != "original", "original")
    some = some.assign(row=row, column=some["metric"].str.removeprefix("picture: "))
    order = {name: place for place, name in enumerate(("original", *METHODS))}
    names = ["group 0", "group 1", *(f"quarter {i + 1}" for i in range(SLICES)), "direction"]
    column = some["column"].map({name: place for place, name in enumerate(names)})
    ranked = some.assign(place=column, rank=some["row"].map(order)).sort_values(["rank", "place", "pixel"])
    return ranked[["row", "column", "pixel", "value"]].drop_duplicates(["row", "column", "pixel"])


def area_table(found: pd.DataFrame) -> pd.DataFrame:
    """Everything but the pictures: one line a data set, k and method, the metrics across."""
    wide = found.assign(name=found["metric"] + ", " + found["protocol"])
    order = list(dict.fromkeys(wide["name"]))
    wide = wide.pivot(index=["dataset", "k", "method"], columns="name", values="mean")
    return wide[order].reset_index()


def examples(name: str, k: int, number: int = 6) -> pd.DataFrame:
    """Single synthetic pictures of the test part that have the bar: as they are, and restored by each method."""
    train, test = made(name)
    moments = GroupMoments.from_data(train.X, train.groups)
    X = test.X[np.flatnonzero(test.groups == 1)[:number]]
    images = {"original": X}
    for method, make in METHODS.items():
        fitted = make(k).fit_moments(moments)
        images[method] = fitted.inverse_transform(fitted.transform(X))
    return pd.DataFrame(
        [
            (row, f"picture {i + 1}", pixel, value)
            for row, block in images.items()
            for i, image in enumerate(block)
            for pixel, value in enumerate(image)
        ],
        columns=["row", "column", "pixel", "value"],
    )


def glasses_on_celeba(found: pd.DataFrame) -> Answer:
    """The answer to K16 where CelebA was at hand: how much of what PCA lets readers find is left by Fair PCA."""
    value = found[(found["dataset"] == CELEBA) & (found["protocol"] == "new reader")]
    value = value.groupby(["method", "metric"])["mean"].mean()
    areas = {r: [value[name, f"AUC ({r})"] for name in ("PCA", "Fair PCA")] for r in metrics.READERS}
    read = [(before - CHANCE, after - CHANCE) for before, after in areas.values()]
    erased = [after <= rule("K16", "left of what is read") * before for before, after in read]
    told = ", ".join(f"of a {reader} reader {a:.3f} and {b:.3f}" for reader, (a, b) in areas.items())
    evidence = f"CelebA, area under the ROC curve on images that the projection has not seen, PCA and Fair PCA: {told}."
    return Answer(by_parts(erased), evidence)


def glasses() -> Answer | None:
    """K16: glasses erased from CelebA, judged by the readers where its rows are stored (``on_celeba``).

    The images are not at hand here: then there is no answer, and the evidence is what the substitute shows.
    """
    areas = [f"AUC ({reader})" for reader in metrics.READERS]
    found = summary(read_results("kleindessner2023-faces", dataset=[CELEBA, SUBSTITUTE], metric=areas))
    if CELEBA in set(found["dataset"]):
        return glasses_on_celeba(found)
    found = found[(found["dataset"] == SUBSTITUTE) & (found["k"] == COMPONENTS[-1])]
    value = found.set_index(["method", "protocol", "metric"])["mean"]
    if value.empty:
        return None
    areas = {
        (protocol, reader): " to ".join(
            f"{value[method, protocol, f'AUC ({reader})']:.3f}" for method in METHODS if method != "LEACE"
        )
        for protocol in ("held-out", "new reader")
        for reader in metrics.READERS
    }
    evidence = (
        "CelebA is not at hand: its licence keeps it out of this project, and the code of the paper does not contain "
        f"this experiment. On a substitute, sex in LFW at {SIDE} x {SIDE} pixels, k = {COMPONENTS[-1]}, one direction "
        "removed, other people to test on: area under the ROC curve, PCA to Fair PCA, of a linear reader "
        f"{areas['held-out', 'linear']}, of a kernel reader {areas['held-out', 'kernel']}; of readers fitted to people "
        f"whom the projection has not seen {areas['new reader', 'linear']} and {areas['new reader', 'kernel']}."
    )
    return Answer("not computable", evidence)


claims = {"K16": glasses}
