"""Data of the comparison of all linear methods: which tables, one version of each source, one preparation, one split.

Fixed before any result was seen. Of several versions of one source one is kept; ``LEFT_OUT`` says which were not, and
why. All sensitive attributes that remain have two values, so methods for two groups apply everywhere.

The sensitive attribute and the label are not features (``hidden`` names the columns that hold them where a loader
keeps them). Columns that are constant on the training part are dropped; each other column is centred and scaled by its
mean and population standard deviation on the training part, all groups together. Nothing else is changed: other columns
that give the group away (a husband is a man) stay.

A label is read where the data card says what it means; the ``DummyMain`` columns of nine tables and two columns that
serve as a target by their position only are none.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evenspan.core.errors import ConfigurationError
from evenspan.core.moments import GroupMoments

from ...data import Dataset, load, shipped_moments, whole_moments
from ...data.fold_store import WITH_FOLDS
from ...data.moments_store import SHIPPED, WHOLE, moments_of

SEED = 2027
SPLITS = range(10)
#: Of every group, rounded down.
TRAIN_SHARE = 0.7
COMPONENTS = (2, 5, 10)


@dataclass(frozen=True)
class Table:
    """One data set: what the groups are, what the label means (empty: none), and the columns that hold either.

    ``d`` is the number of features that are left, before constant ones are dropped.
    """

    groups: str
    label: str
    d: int
    hidden: tuple[str, ...] = ()


DATASETS: Mapping[str, Table] = {
    "default_credit": Table("education", "default next month", 22),
    "biodeg": Table("readily biodegradable or not", "", 40),
    "ecoli": Table("cytoplasm or not", "", 7),
    "energy": Table("orientation", "", 8),
    "german": Table("age, 25 or older", "bad credit", 56, ("age_25_or_older",)),
    "image": Table("path or grass", "", 18),
    "letter": Table("vowel or not", "", 16),
    "magic": Table("gamma or not", "", 10),
    "parkinsons": Table("sex", "", 20),
    "skillcraft": Table("age above 20", "", 17),
    "statlog": Table("red soil or grey", "", 36),
    "steel": Table("fault of type other or not", "", 24),
    "wine_quality": Table("white or red", "quality of 6 or better", 11),
    "adult": Table("sex", "income above 50K", 96, ("sex",)),
    "compas": Table("race, Caucasian or not", "rearrested within two years", 10, ("race_Caucasian",)),
    "bank_marketing": Table("age above 40", "subscribed", 52),
    "diabetes": Table("sex", "diabetes", 20, ("Sex",)),
    "obesity": Table("sex", "obesity", 29, ("Gender_Female", "Gender_Male", "NObeyesdad_*")),
    "lsac_bw": Table("sex", "passed the bar", 10, ("male", "pass_bar")),
    "npha": Table("sex", "most visits to doctors of three classes", 13, ("Gender", "Number of Doctors Visited")),
    "sklearn_diabetes": Table("sex", "progression above the median", 9),
}

#: Data sets with groups that are not compared, and why.
LEFT_OUT: Mapping[str, str] = {
    "adult_uci": "the same source as adult, of which moments are shipped, so that every build can recompute it",
    "german_credit": "the same 1,000 people as german, where the coding of the group is the documented one",
    "taiwan_credit": "the same source as default_credit, which keeps all 30,000 rows",
    "credit_card": "the same source as default_credit, in a version for clustering",
    "lsac": "the same source as lsac_bw, and not the table of the paper that cites it",
    "lsac_clean": "the same source as lsac_bw, the version that gives the printed numbers",
    "lsac_bar": "the same source as lsac_bw, the version that gives the printed numbers",
    "lsac_arff": "the rows of lsac_bw in another order",
    "lfw_24x24": "a stand-in for the faces of a paper, with 576 features: some eigenvalue problems would be a thousand "
    "times larger than those of all other tables together; the faces have experiments of their own",
}


@dataclass(frozen=True, eq=False)
class Parts:
    """Training and held-out part in the units of the training part: points, moments by group and by label.

    The moments by label are None where there is no label; points are None where only moments were shipped.
    """

    train: GroupMoments
    test: GroupMoments
    train_points: Dataset | None = None
    test_points: Dataset | None = None
    by_label: GroupMoments | None = None


def table(dataset: str) -> Table:
    """What is compared of a data set."""
    if dataset not in DATASETS:
        raise ConfigurationError(f"dataset={dataset!r}; needed is one of {', '.join(DATASETS)}.")
    return DATASETS[dataset]


def comparable(k: int) -> tuple[str, ...]:
    """Data sets on which methods are ranked at k: those with k at most half of the features.

    There every method can answer, also those that remove directions before they look for k.
    """
    return tuple(name for name, found in DATASETS.items() if 2 * k <= found.d)


def sizes(dataset: str) -> tuple[int, ...]:
    """The numbers of components of a data set: those below its number of features."""
    return tuple(k for k in COMPONENTS if k < table(dataset).d)


def visible(dataset: str, names: tuple[str, ...]) -> list[str]:
    """Names of the features: all but those that hold the group or the label."""
    hidden = table(dataset).hidden
    found = {name: [pattern for pattern in hidden if _fits(name, pattern)] for name in names}
    unused = [pattern for pattern in hidden if not any(pattern in patterns for patterns in found.values())]
    if unused:
        raise ConfigurationError(f"{dataset} has no column {', '.join(unused)}; correct 'hidden' of its table.")
    return [name for name, patterns in found.items() if not patterns]


def prepared(dataset: str) -> Dataset:
    """All rows with the features that are compared; the label is 1 where it has its largest value, else 0."""
    data = load(dataset)
    names = visible(dataset, data.feature_names)
    columns = [data.feature_names.index(name) for name in names]
    y = (data.y == data.y.max(axis=0)).astype(int) if table(dataset).label else np.zeros(data.n, dtype=int)
    return Dataset(dataset, data.X[:, columns], y, data.groups, tuple(names))


def split_rows(groups: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the training and the held-out part: ``default_rng((SEED, split))`` permutes group after group."""
    rng, train, test = np.random.default_rng((SEED, split)), [], []
    for label in np.unique(groups):
        order = rng.permutation(np.flatnonzero(groups == label))
        cut = int(TRAIN_SHARE * len(order))
        train.append(order[:cut])
        test.append(order[cut:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def parts_of(data: Dataset, split: int) -> Parts:
    """One split of prepared rows."""
    rows = split_rows(data.groups, split)
    train = data.X[rows[0]]
    raw = GroupMoments.from_data(train, data.groups[rows[0]])
    varies = varying(raw)
    mean, scale = raw.mean[varies], raw.scale()[varies]
    names = tuple(np.array(data.feature_names)[varies].tolist())
    points = [
        Dataset(
            data.name, (data.X[part][:, varies] - mean) / scale, data.y[part], data.groups[part], names, title, split
        )
        for part, title in zip(rows, ("train", "test"), strict=True)
    ]
    moments = [GroupMoments.from_data(part.X, part.groups) for part in points]
    by_label = GroupMoments.from_data(points[0].X, points[0].y) if table(data.name).label else None
    return Parts(*moments, *points, by_label)


def whole(dataset: str) -> GroupMoments | None:
    """Shipped (or bundled) moments of all rows, prepared as a training part is; None where none are shipped."""
    table(dataset)
    if dataset in SHIPPED:  # all people of split 0, in units that the standardisation takes away
        raw = shipped_moments(dataset, 0, "train") + shipped_moments(dataset, 0, "test")
    elif dataset in (*WITH_FOLDS, *WHOLE):
        raw = whole_moments(dataset)
    elif dataset == "sklearn_diabetes":
        raw = moments_of(load(dataset))
    else:
        return None
    raw = raw.select(visible(dataset, raw.feature_names))
    return raw.select(np.flatnonzero(varying(raw)).tolist()).standardised()


def varying(moments: GroupMoments) -> np.ndarray:
    """Which features are not constant, by the relative cut-off of ``GroupMoments.scale``."""
    deviation = np.sqrt(np.diag(moments.scatter) / moments.n)
    return deviation > 1e-12 * np.hypot(moments.mean, deviation)


def _fits(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
