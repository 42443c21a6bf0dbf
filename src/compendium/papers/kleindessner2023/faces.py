"""A concept erased from faces: the last figure of Kleindessner et al. (2023), on a substitute and on made images.

In the place of CelebA come the LFW faces at 24 x 24 pixels with sex as the attribute, and made pictures with a bar
across the eyes of 30 % of them. Of real people only means over at least 50 of them are kept as pictures.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold

from evenspan import metrics
from evenspan.core.errors import DataError
from evenspan.core.moments import GroupMoments

from ... import own
from ...data import Dataset, entry
from ...data.fetch import raw_file
from ...data.tables import FACES_PER_GROUP as PER_GROUP
from ...data.tables import FACES_SEED as DRAWN_WITH
from ...data.tables import FACES_SIDE as SIDE
from ...records import in_order, spread, tidy
from .protocol import READERS, SEED

SUBSTITUTE = "lfw_24x24"
#: Share of the made pictures that have a bar; folds of a probe fitted to others.
SHARE, FOLDS = 0.3, 5
METHODS = ("PCA", "Fair PCA", "LEACE")
#: What is kept as a picture (LEACE looks like Fair PCA), of how many images at least, with how many decimals.
PICTURED, SMALLEST, DECIMALS = ("PCA", "Fair PCA"), 50, 3
#: Of which images of the test part a mean is shown.
SUBSETS = ("group 0", "group 1", "quarter 1", "quarter 2", "quarter 3", "quarter 4")


def people() -> np.ndarray:
    """Name of the person on every image of the substitute, in the order of its rows."""
    lines = pd.read_csv(raw_file(entry(SUBSTITUTE), "lfw24_sources.csv"))
    rng, male = np.random.default_rng(DRAWN_WITH), lines["male"].to_numpy()  # as the loader draws
    rows = np.sort(np.concatenate([rng.choice(np.flatnonzero(male == g), PER_GROUP, replace=False) for g in (0, 1)]))
    return lines["name"].str.rpartition("_")[0].to_numpy()[rows]


def halves(faces: Dataset, names: np.ndarray, split: int) -> tuple[Dataset, Dataset]:
    """Half of the people to fit on, the others to test on: nobody is in both parts."""
    persons = np.unique(names)
    chosen = np.random.default_rng((SEED, split)).permutation(persons)[: len(persons) // 2]
    first = np.isin(names, chosen)
    return tuple(
        Dataset(faces.name, faces.X[rows], faces.y[rows], faces.groups[rows], faces.feature_names, part, split)
        for rows, part in ((first, "train"), (~first, "test"))
    )


def made(reach: int, n: int) -> tuple[Dataset, Dataset]:
    """Made pictures, n to fit on and n to test on: a bright oval, smooth noise, and for some a dark bar.

    The bar lies up to ``reach`` pixels higher or lower."""
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
        parts.append(Dataset("made", X, groups.copy(), groups, names, part, 0))
    return tuple(parts)


def evaluate(
    methods: Mapping[str, BaseEstimator], train: Dataset, test: Dataset, *, shown: bool = False, **key: object
) -> list[dict]:
    """All rows of one split; pictures only if ``shown``."""
    moments = GroupMoments.from_data(train.X, train.groups)
    direction = moments.means[1] - moments.means[0]
    rows = []
    for name, estimator in methods.items():
        fitted = own.fitted(estimator, moments, lambda: train)
        E, T = fitted.transform(train.X), fitted.transform(test.X)
        found = {
            ("held-out", "mean squared error"): np.mean((test.X - fitted.inverse_transform(T)) ** 2, axis=None),
            ("in sample", "mean gap"): metrics.mean_gap(GroupMoments.from_data(E, train.groups)),
            ("held-out", "mean gap"): metrics.mean_gap(GroupMoments.from_data(T, test.groups)),
            ("held-out", "share of the larger group"): np.bincount(test.groups).max(axis=0) / test.n,
        }
        for probe, reader in READERS.items():
            for protocol, scores in _scores(reader, (E, train.groups), (T, test.groups)):
                found[protocol, f"accuracy ({probe})"] = accuracy_score(test.groups, (scores > 0).astype(int))
                found[protocol, f"AUC ({probe})"] = metrics.auc(test.groups, scores)
        for (protocol, metric), value in found.items():
            rows += tidy({metric: float(value)}, method=name, protocol=protocol, pixel=None, **key)
        if shown and (name in PICTURED or name not in METHODS):
            for protocol, title, image in _shown(name, fitted, test, direction / np.linalg.norm(direction)):
                for pixel, value in enumerate(image):
                    grey = {f"picture: {title}": round(float(value), DECIMALS)}
                    rows += tidy(grey, method=name, protocol=protocol, pixel=pixel, **key)
    return rows


def _scores(probe: ClassifierMixin, train: tuple, test: tuple) -> Iterator[tuple[str, np.ndarray]]:
    """Scores of the test part by a probe fitted with the projection's own sample, and by one fitted to other people.

    The latter is fitted to four fifths of the test part and scored on the rest, in turn."""
    yield "held-out", metrics.probe_scores(probe, *train, test[0])
    scores = np.empty(len(test[1]))
    for fitting, scoring in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(*test):
        scores[scoring] = metrics.probe_scores(probe, test[0][fitting], test[1][fitting], test[0][scoring])
    yield "new reader", scores


def _shown(name: str, fitted, test: Dataset, direction: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """Means of the test part: of each group, and of quarters along the direction in which the group means differ."""
    along = np.argsort(test.X @ direction, kind="stable")
    subsets = [*(np.flatnonzero(test.groups == g) for g in (0, 1)), *np.array_split(along, len(SUBSETS) - 2)]
    for title, rows in zip(SUBSETS, subsets, strict=True):
        if len(rows) < SMALLEST:
            raise DataError(f"{title} has {len(rows)} images; a mean of fewer than {SMALLEST} shows single people.")
        if name == "PCA":
            yield "original", title, test.X[rows].mean(axis=0)
        yield "restored", title, fitted.inverse_transform(fitted.transform(test.X[rows])).mean(axis=0)
    if name == "PCA":
        yield "original", "direction", direction


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean, smallest and largest value over the splits, without the pictures."""
    some = rows[~rows["metric"].str.startswith("picture: ")]
    keys = ["dataset", "method", "k", "protocol", "metric"]
    return in_order(spread(some, keys, "mean", "smallest", "largest", number="splits"), METHODS)
