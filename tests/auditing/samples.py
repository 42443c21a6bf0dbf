"""Tables with troubles, made from scikit-learn's bundled data."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_wine


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Three unequal groups of race and two of sex, a column of every kind, and a proxy of sex."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male"], n, p=[0.35, 0.65])
    race = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame(
        {
            "customer": np.arange(1000, 1000 + n),
            "name": [f"person {i:05d}" for i in range(n)],
            "sex": sex,
            "race": race,
            "age": np.round(rng.normal(40, 12, n) + 3 * (sex == "male"), 1),
            "income": np.round(np.exp(rng.normal(10, 0.5, n) + 0.2 * (race == "a")), 2),
            "job": rng.choice(["clerk", "cook", "smith, black", "nurse"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "married": rng.choice(["no", "yes"], n),
            "employed": rng.random(n) < 0.8,
            "joined": (pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), unit="D")).strftime(
                "%Y-%m-%d"
            ),
            "country": "here",
            "relation": np.where(rng.random(n) < 0.1, "other", np.where(sex == "female", "wife", "husband")),
        }
    )
    frame["accepted"] = np.where(rng.normal(size=n) + (frame["age"] - 40) / 12 > 0, "yes", "no")
    return frame


def diabetes() -> pd.DataFrame:
    """scikit-learn's diabetes data: ten measurements of 442 patients in their own units, progression after a year."""
    bunch = load_diabetes(as_frame=True, scaled=False)
    frame = bunch.frame.rename(columns={"target": "progression"})
    frame["sex"] = np.where(frame["sex"] == 1, "first", "second")
    return frame


def wine() -> pd.DataFrame:
    """scikit-learn's wine data: thirteen measurements, grouped by the cultivar, three groups of unequal size."""
    frame = load_wine(as_frame=True).frame
    frame["cultivar"] = np.array(["barolo", "grignolino", "barbera"])[frame.pop("target")]
    return frame
