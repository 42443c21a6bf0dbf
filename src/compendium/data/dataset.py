"""One table of data with its groups: what every loader and every generator returns."""

from dataclasses import dataclass

import numpy as np

from evenspan.core.errors import DataError


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features, label and groups of one sample.

    Attributes
    ----------
    name : str
        Name in the registry, or that of the generator.
    X : ndarray of shape (n, d)
        Features, float64.
    y : ndarray of shape (n,)
        Label.
    groups : ndarray of shape (n,)
        Value of the sensitive attribute.
    feature_names : tuple of str
        Names of the d features.
    part : {"all", "train", "test"}
        Which part of a split this is.
    split : int or None
        Number of the split, None if the data are not split.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    feature_names: tuple[str, ...]
    part: str = "all"
    split: int | None = None

    def __post_init__(self):
        n, d = self.X.shape
        if self.y.shape != (n,) or self.groups.shape != (n,) or len(self.feature_names) != d:
            raise DataError(
                f"{self.name}: X is {self.X.shape}, y {self.y.shape}, groups {self.groups.shape}, and there are "
                f"{len(self.feature_names)} feature names; needed are (n, d), (n,), (n,) and d."
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    def __repr__(self) -> str:
        labels, counts = np.unique(self.groups, return_counts=True)
        groups = ", ".join(f"{label} ({count})" for label, count in zip(labels.tolist(), counts.tolist(), strict=True))
        where = self.part if self.split is None else f"{self.part} part of split {self.split}"
        return f"Dataset({self.name}, {where}: n={self.n}, d={self.d}, groups: {groups})"
