"""Tables with group labels and a target, of every kind that has made trouble: what the attacks on estimators draw.

``tables()`` draws a `Table`. A draw is a seed and a few choices, from which NumPy makes the arrays; what is printed of
it makes it again. Half of the draws are meant to be ordinary, of the others most choices are plain: one trouble at a
time is met as often as several together.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from scipy import sparse

#: Kinds of numbers. Of the first, an ordinary table can be made.
KINDS = (
    "gaussian",
    "constant",
    "duplicate",
    "rank one",
    "zero",
    "ties",
    "outlier",
    "NaN",
    "inf",
    "denormal",
    "no rows",
    "no columns",
    "complex",
    "text",
    "digits",
)
#: Types and containers. Those of DOUBLE hold 64-bit numbers, and any of them may hold an ordinary table.
DOUBLE = ("float64", "list", "object", "pandas", "polars", "csr", "csc", "fortran", "strided", "readonly")
TYPES = (*DOUBLE, "float32", "float16", "int64", "int8", "uint8", "bool", "vector", "cube")
#: Labels of groups; with those of FAULTY no answer is expected.
LABELS = {
    "text": ["b", "a", "d", "c"],
    "numbers": [3, -1, 10**12, 0],
    "booleans": [True, False],
    "whole floats": [1.0, 0.0, -5.0, 2.0],
    "odd": ["", "x" * 5000, "f, group=m\n", "\x1b[31mø\u202e=1+1"],
    "two attributes": [("a x b", "f"), ("a", "b x f"), ("a", "f"), ("a x b", "b x f")],
    "two in a frame": [("a", 1), ("b", 0), ("a", 0), ("b", 1)],
    "category": ["b", "a", "d", "c"],
    "missing": ["b", None, "a", "c"],
    "mixed": ["b", 1, True, 2.5],
    "fractional": [0.5, 0.25, 1.125, 3.0],
    "too few": ["b", "a", "d", "c"],
    "nested": [["a"], ["b", "c"], [], ["a"]],
}
FAULTY = ("missing", "mixed", "fractional", "too few", "nested")
#: How rows are shared out: by turns, at random, or one row for each group but the first.
LAYOUTS = ("even", "random", "single rows")


@dataclass(frozen=True)
class Table:
    """One draw: features ``X``, labels ``groups``, and a target ``y`` of 0 and 1; its repr makes it again."""

    seed: int
    n: int = 20
    d: int = 3
    G: int = 2
    kind: str = "gaussian"
    dtype: str = "float64"
    labels: str = "text"
    layout: str = "even"
    exponent: int = 0
    shift: float = 0.0

    @property
    def ordinary(self) -> bool:
        """Whether an answer must come: finite numbers of moderate size in general position, whole groups, two of them.

        Every group has two rows at least, and there are more rows than features and groups together.
        """
        plain = self.kind == "gaussian" and self.dtype in DOUBLE and self.labels not in FAULTY
        moderate = abs(self.exponent) <= 100 and abs(self.shift) <= 1000
        counts = np.bincount(self.codes) if self.n else np.zeros(1)
        counts = counts[counts > 0]
        return bool(plain and moderate and len(counts) > 1 and counts.min() > 1 and self.n > self.d + len(counts))

    @cached_property
    def codes(self) -> np.ndarray:
        """The group of each row, from 0 to G - 1; not every one need occur."""
        rng = np.random.default_rng([self.seed, 1])
        G = min(self.G, len(LABELS[self.labels]))
        if self.layout == "random":
            return rng.integers(G, size=self.n)
        codes = np.arange(self.n) % G if self.layout == "even" else np.maximum(np.arange(self.n) + G - self.n, 0)
        return rng.permutation(codes)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The table as an array (n, d), before it is put into its container; ``X`` holds the same numbers."""
        with np.errstate(all="ignore"):
            made = self._made()
            if self.kind not in ("text", "digits", "denormal"):
                made = (made + self.shift) * 2.0**self.exponent
            return made if made.dtype.kind in "cO" else _typed(made, self.dtype)

    @cached_property
    def X(self):
        """The features in their container."""
        return contained(self.numbers, self.dtype)

    @cached_property
    def groups(self):
        """The labels of the rows, in the container that they are drawn for."""
        named = [LABELS[self.labels][code] for code in self.codes]
        if self.labels == "two in a frame":
            return pd.DataFrame({"one, two": [a for a, _ in named], "one": [b for _, b in named]})
        if self.labels == "category":
            return pd.Series(named, dtype="category")
        if self.labels == "two attributes" and self.n:
            return np.array(named, dtype=object)
        return named[1:] if self.labels == "too few" else named

    @cached_property
    def y(self) -> np.ndarray:
        """A target of 0 and 1."""
        return np.random.default_rng([self.seed, 2]).integers(2, size=self.n)

    def _made(self) -> np.ndarray:
        rng = np.random.default_rng([self.seed, 3])
        n, d = (0 if self.kind == "no rows" else self.n), (0 if self.kind == "no columns" else self.d)
        centres, mixed = rng.normal(size=(max(self.G, 1), d)), rng.normal(size=(d, d))
        X = rng.normal(size=(n, d)) @ mixed + centres[self.codes[:n]]
        at = rng.integers(max(n, 1)), rng.integers(max(d, 1))
        match self.kind:
            case "constant":
                X[:, at[1] :] = 1.0
            case "duplicate":
                X[:, :] = X[:, rng.integers(d, size=d)]
            case "rank one":
                X = np.outer(X[:, 0], X[0])
            case "zero":
                X[:] = 0.0
            case "ties":
                X = rng.integers(-1, 2, size=(n, d)).astype(float)
            case "outlier":
                X[at] = 1e12
            case "NaN":
                X[at] = np.nan
            case "inf":
                X[at] = np.inf
            case "denormal":
                X = np.round(X) * 5e-324
            case "complex":
                X = X + 1j
            case "text":
                X = X.astype(str).astype(object)
                X[at] = "twelve"
            case "digits":
                X = np.round(X).astype(int).astype(object)
                X[at] = 10**400
        return X


def _typed(X: np.ndarray, dtype: str) -> np.ndarray:
    if dtype in ("float32", "float16"):
        return X.astype(dtype)
    if dtype in ("int64", "int8", "uint8"):
        info = np.iinfo(dtype)
        whole = np.where(np.isfinite(X), np.round(X * (8 if info.bits == 8 else 1024)), 0)
        return np.clip(whole, max(info.min, -(2**62)), min(info.max, 2**62)).astype(dtype)
    return X > 0 if dtype == "bool" else X


def contained(X: np.ndarray, dtype: str):
    """The array in the container of that name."""
    match dtype:
        case "list":
            return X.tolist()
        case "object":
            return X.astype(object)
        case "pandas":
            return pd.DataFrame(X)
        case "polars" if X.dtype.kind != "c":
            return pl.DataFrame({f"x{j}": column for j, column in enumerate(X.T.tolist())}, strict=False)
        case "csr" | "csc" if X.dtype.kind in "biuf":
            return sparse.csr_array(X) if dtype == "csr" else sparse.csc_matrix(X)
        case "fortran":
            return np.asfortranarray(X)
        case "strided":
            return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3][::-1][::-1]
        case "readonly":
            X = X.copy()
            X.flags.writeable = False
            return X
        case "vector":
            return X[:, 0] if X.shape[1] else X.ravel()
        case "cube":
            return X[:, :, None]
    return X


_SANE = st.sampled_from(sorted(set(LABELS) - {*FAULTY}))


def _often(plain, *others) -> st.SearchStrategy:
    """The plain value in about half of the draws, otherwise one of others."""
    return st.one_of(*[st.just(plain)] * len(others), *others)


#: Tables most of which are ordinary, and tables of which anything may be expected.
_CALM = {
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(12, 30),
    "d": st.integers(1, 6),
    "G": st.integers(2, 4),
    "dtype": _often("float64", st.sampled_from(DOUBLE)),
    "labels": _often("text", _SANE),
    "layout": _often("even", st.just("random")),
    "exponent": _often(0, st.integers(-100, 100)),
    "shift": st.sampled_from([0.0, 1.0, -1000.0]),
}
_WILD = {
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(1, 30),
    "d": st.integers(1, 6),
    "G": st.integers(1, 4),
    "kind": _often("gaussian", st.sampled_from(KINDS), st.sampled_from(KINDS[:7])),
    "dtype": _often("float64", st.sampled_from(TYPES), st.sampled_from(DOUBLE)),
    "labels": _often("text", st.sampled_from(sorted(LABELS)), _SANE),
    "layout": _often("even", st.sampled_from(LAYOUTS)),
    "exponent": _often(0, st.integers(-20, 20), st.integers(-500, 500)),
    "shift": _often(0.0, st.sampled_from([1.0, -1000.0, 1e5, 1e7, -1e8])),
}


def tables(**given) -> st.SearchStrategy[Table]:
    """Tables of every kind. A choice that is given, a value or a strategy, replaces the one drawn: ``tables(n=12)``."""
    fixed = {name: value if hasattr(value, "map") else st.just(value) for name, value in given.items()}
    return st.builds(Table, **_CALM | fixed) | st.builds(Table, **_WILD | fixed)
