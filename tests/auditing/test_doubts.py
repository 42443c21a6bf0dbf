"""Doubts: what is likely meant otherwise is named with its option; what is likely right stays in peace."""

import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenspan
from evenspan.auditing.doubts import answer_codes
from evenspan.auditing.sample import read_sample

RNG, N = np.random.default_rng(0), 600
SEX = np.array(["f", "m"])[RNG.integers(0, 2, N)]
TABLES = Path(__file__).parents[2] / "data" / "tables"
SCALE, AGE = RNG.integers(1, 6, N), RNG.integers(18, 90, N)
INCOME = RNG.lognormal(10, 0.4, N).round()
EMPLOYED = INCOME * (RNG.random(N) > 0.2)


def table(**columns) -> pd.DataFrame:
    return pd.DataFrame({"sex": SEX, "x": RNG.normal(size=N), "y": RNG.normal(size=N), **columns})


def told(frame, **options) -> str:
    return " ".join(read_sample(frame, **{"sensitive": "sex"} | options).warnings)


def replaced(values, **counts) -> np.ndarray:
    """The values with so many cells of each code: ``_9=30`` are 30 cells of 9, ``m9`` of -9."""
    values, at = np.array(values, dtype=float), iter(np.random.default_rng(1).permutation(len(values)))
    for name, count in counts.items():
        values[[next(at) for _ in range(count)]] = float(name.replace("m", "-").strip("_"))
    return values


@pytest.mark.parametrize("code", ["_99", "_999", "m9", "m99", "m999", "_9999999", "m2147483648"])
def test_codes_for_no_answer_are_named_with_their_counts(code):
    for values in (SCALE, AGE, INCOME, SCALE % 2):
        assert answer_codes(replaced(values, **{code: 40})) == {code.replace("m", "-").strip("_"): 40}


def test_codes_above_a_scale_and_several_of_them():
    assert answer_codes(replaced(SCALE, _8=12, _9=30)) == {"8": 12, "9": 30}
    assert answer_codes(replaced(RNG.integers(1, 8, N), _9=30)) == {"9": 30}
    assert answer_codes(replaced(SCALE, m8=12, m9=30, _97=3, _99=20)) == {"-9": 30, "-8": 12, "97": 3, "99": 20}
    assert answer_codes(replaced(SCALE, m1=30)) == {"-1": 30}
    assert answer_codes(replaced(EMPLOYED, _99=30)) == {"99": 30}
    assert answer_codes(replaced(INCOME, m999=1)) == {"-999": 1}


PEACE = {
    "ages to 99": lambda rng: rng.integers(18, 100, N), "1 to 10": lambda rng: rng.integers(1, 11, N),
    "old ages": lambda rng: rng.normal(60, 20, N).round().clip(18, 99), "1 to 9": lambda rng: rng.integers(1, 10, N),
    "down to -1": lambda rng: rng.poisson(1, N) - 1, "-2 to 2": lambda rng: rng.integers(-2, 3, N),
    "two signs": lambda rng: rng.choice([-1, 1], N), "degrees": lambda rng: rng.normal(8, 6, N).round(),
    "children": lambda rng: rng.poisson(1.5, N), "visits": lambda rng: rng.negative_binomial(1, 0.05, N),
    "tail": lambda rng: np.floor(rng.pareto(1.5, N) * 3), "cylinders": lambda rng: rng.choice([3, 4, 5, 6, 8], N),
    "hours": lambda rng: rng.choice([0, 20, 35, 40, 50, 80, 98, 99], N), "balance": lambda rng: rng.normal(50, 40, N),
    "percent": lambda rng: rng.uniform(0, 99.9, N).round(1), "years": lambda rng: rng.integers(1900, 2000, N),
    "debts": lambda rng: rng.integers(0, 50, N) * 100 - 999, "halves": lambda rng: rng.choice([-1, -0.5, 0.5, 1], N),
}  # fmt: skip


@pytest.mark.parametrize("name", PEACE)
def test_numbers_that_really_reach_such_values_stay_in_peace(name):
    doubted = [answer_codes(np.asarray(PEACE[name](np.random.default_rng(seed)), dtype=float)) for seed in range(60)]
    assert sum(map(bool, doubted)) <= 1, doubted


def test_codes_are_named_by_column_and_settled_by_the_option():
    frame = table(trust=replaced(SCALE, _8=12, _9=30), income=replaced(INCOME, m999=40))
    said = told(frame)
    assert "'trust' has 8 (12), 9 (30), 'income' has -999 (40)" in said
    assert "--missing-codes 'trust=8,9; income=-999'" in said
    codes = {"trust": [8, 9], "income": [-999]}
    assert told(frame, missing_codes=codes, missing="mean") == ""
    sample = read_sample(frame, sensitive="sex", missing_codes=codes, missing="drop")
    assert sample.n_used == N - (frame["trust"].isin([8, 9]) | (frame["income"] == -999)).sum()
    assert any("trust '9' (30), '8' (12)" in note or "trust '8' (12), '9' (30)" in note for note in sample.notes)
    read = evenspan.audit(
        frame, sensitive="sex", missing_codes=codes, missing="mean", k=1, methods=["LEACE"], n_boot=20
    )
    new = pd.DataFrame({"x": 0.0, "y": 0.0, "trust": [9, 3], "income": [20_000, -999]})
    encoder = read.pipeline("LEACE")[0]
    filled = dict(zip(encoder.get_feature_names_out(), encoder.transform(new).to_numpy().T, strict=True))
    assert filled["trust"][0] == pytest.approx(0, abs=1e-9)  # the mean
    assert filled["income"][1] == pytest.approx(0, abs=1e-9)
    assert "'ward' has 9 (30)" in told(table(ward=replaced(RNG.integers(1, 4, N), _9=30)), sensitive="ward")


FORMS = {
    "case": ("Male", "male"), "within": ("Not stated", "Not  stated"), "no-break": ("Not stated", "Not\u00a0stated"),
    "point": ("Asst.", "Asst"), "digits": ("1", "1.0"), "a mark": ('f"', "f"), "hidden": ("a b", "a b\u200b"),
    "Unicode": (unicodedata.normalize("NFC", "männlich"), unicodedata.normalize("NFD", "männlich")),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_names_of_groups_that_a_reader_takes_for_one_are_told(form):
    one, other = FORMS[form]
    counts = (SEX == "f").sum(), (SEX == "m").sum()
    said = told(table(g=np.where(SEX == "f", one, other)), sensitive="g")
    assert "Names of groups of g that differ only in" in said
    assert f"({counts[0]}) and " in said or f"({counts[1]}) and " in said
    assert ascii(one) in ascii(said) or repr(one) in said


def test_different_names_stay_and_blanks_around_them_are_none(tmp_path):
    assert told(table(g=np.where(SEX == "f", "Male", "Female")), sensitive="g") == ""
    assert told(table(g=RNG.choice(["1", "2", "10"], N)), sensitive="g") == ""
    frame = table(g=np.where(SEX == "f", RNG.choice(["Male", " Male"], N), "Female\u00a0"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, frame.astype({"g": object}), frame.astype({"g": "category"}), *tmp_path.iterdir()):
        sample = read_sample(source, sensitive="g")
        assert sample.moments("g").labels.tolist() == ["Female", "Male"]
        assert sample.warnings == ()


WHOLE = RNG.integers(1001, 9950, N)


def test_codes_of_places_and_industries_are_told():
    for name in ("zip", "ZIPCode", "zip_code", "PLZ", "county", "StateFIPS", "naics_2017", "country", "industry",
                 "PUMA", "region", "state", "job_code", "county_id", "ISO", "occ1990"):  # fmt: skip
        assert f"quantities: '{name}' (" in told(table(**{name: WHOLE})), name
    for name in ("income", "n_countries", "state_income", "zip_density", "hours", "coded", "health_state", "periods"):
        assert told(table(**{name: WHOLE})) == "", name
    assert told(table(zip=WHOLE + 0.5, code=SCALE % 2)) == ""
    assert told(table(zip=WHOLE), exclude=["zip"]) == ""


def test_likely_weights_are_told():
    weights = RNG.lognormal(4, 1, N).round(1)
    for name in ("PWGTP", "PWGTP12", "PERWT", "fnlwgt", "weight", "survey_weight", "w_trim", "WTFINL", "_LLCPWT", "wt",
                 "sampleWeight", "final_wgt", "pweight", "WEIGHTS"):  # fmt: skip
        assert told(table(**{name: weights})).startswith(f"'{name}' may be weights"), name
        assert all(option in told(table(**{name: weights})) for option in ("--weights", "--exclude"))
    for name in ("birth_weight", "weight_kg", "bwt", "growth", "w", "paperweight", "wealth", "width"):
        assert told(table(**{name: weights})) == "", name
    assert told(table(weight=weights, height=weights)) == ""
    assert told(table(weight=weights - 50)) == ""
    assert told(table(weight=weights), exclude=["weight"]) == ""


#: Doubts about the tables of the book, and what their cards say of these columns.
RIGHT = {
    "adult": ["'capital-gain' has 99999"],  # a largest value: the next is 41,310
    "adult_uci": ["'capital-gain' has 99999", "'fnlwgt' may be weights"],
    "bank_marketing": ["'pdays' has 999"],  # never contacted before
    "npha": ["'Mental Health' has -1"],  # refused
}


@pytest.mark.parametrize("path", sorted(TABLES.glob("*.parquet")), ids=lambda path: path.stem)
def test_no_false_doubt_on_the_tables_of_the_book(path, tmp_path):
    frame = pd.read_parquet(path)
    frame.to_csv(tmp_path / "t.csv", index=False)
    few = [name for name in frame if 2 <= frame[name].nunique() <= 20]
    sensitive = [name for name in few if name.lower() in ("sex", "gender", "race")] or few[-1:]
    said = read_sample(tmp_path / "t.csv", sensitive=sensitive[0], missing="drop").warnings
    assert len(said) == len(RIGHT.get(path.stem, [])), said
    assert all(words in one for words, one in zip(RIGHT.get(path.stem, []), said, strict=True)), said
