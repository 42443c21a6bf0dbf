"""Tables as nobody means them, in memory and in files, whole and damaged: read rightly, or refused by name."""

import io
import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

import evenspan
from evenspan.auditing.passes import read_sample


def workbook(frame: pd.DataFrame) -> bytes:
    """Excel's file of a table, made in memory: a writer that fails leaves no file open."""
    content = io.BytesIO()
    frame.to_excel(content, index=False)
    return content.getvalue()


#: What a name of a column may be.
NAMES = (
    "age", "Age", " age ", "", "2", "block", "a=b", "=1+1", "@x", "<b>", "naïve", "日本", "x" * 300, "x" * 1001,
    "$x^2$", "a\tb", "\x1b[31m", "a\0b", "line\nbreak", "a x b", "(missing)", "\U0001f600", "a,b", "nan", "index",
)  # fmt: skip
#: Labels of the groups.
LABELS = (
    ("f", "m"), ("a", "b", "c"), ("1", "1.0", "2"), (1, 2), (1.0, 2.5), (True, False), ("only",), ("x\0", "x"),
    ("a x b", "a"), ("é", "e\u0301", "\x1b[2J"), tuple(f"g{j}" for j in range(60)), ("a", None), (None,), ("", "b"),
    ("-1", "=cmd|' /C calc'!A0"), (0.1, 0.30000000000000004),
)  # fmt: skip
#: Kinds of columns: what makes n cells from a generator.
KINDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "scaled": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300),
    # Beyond 1e6 the mean that fills a gap has no more digits than batches cut otherwise change.
    "shifted": lambda rng, n: rng.normal(size=n) + 10.0 ** rng.integers(0, 7),
    "huge": lambda rng, n: [10 ** int(rng.integers(1, 420)) for _ in range(n)],
    "integers": lambda rng, n: rng.integers(-3, 4, n),
    "numbering": lambda rng, n: np.arange(n) + 7,
    "wide": lambda rng, n: rng.integers(-(2**62), 2**62, n),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.1, np.inf, rng.normal(size=n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
    "nothing": lambda rng, n: [None] * n,
    "constant": lambda rng, n: [3.25] * n,
    "truths": lambda rng, n: rng.random(n) < 0.4,
    "halves": lambda rng, n: pick(rng, [True, False, None], n),
    "few": lambda rng, n: pick(rng, ["clerk", "cook", "smith, black", 'a "nurse"'], n),
    "many": lambda rng, n: [f"c{v}" for v in rng.integers(0, 70, n)],
    "two": lambda rng, n: pick(rng, ["no", "yes"], n),
    "long": lambda rng, n: pick(rng, ["x" * 2000, "y"], n),
    "odd": lambda rng, n: pick(rng, ["\0", "\x07", "é", "\u202e", "a\0"], n),
    "free": lambda rng, n: [f"text {v}" for v in rng.integers(0, 10**9, n)],
    "money": lambda rng, n: [f"${v:,.2f}" for v in rng.uniform(0, 1e6, n)],
    "share": lambda rng, n: [f"{v:.1f}%" for v in rng.uniform(0, 100, n)],
    "comma": lambda rng, n: [f"{v:.2f}".replace(".", ",") for v in rng.normal(size=n)],
    "dates": lambda rng, n: [date.fromordinal(int(v)) for v in rng.integers(1, 3_652_059, n)],
    "ends": lambda rng, n: pick(rng, ["9999-12-31", "2020-02-29", "0001-01-01", "1969-07-20T20:17:40.5Z"], n),
    "stamps": lambda rng, n: rng.integers(-(10**11), 10**11, n).astype("datetime64[s]"),
    "mixed": lambda rng, n: pick(rng, [1, "one", 1.5, date(2020, 1, 1), True, None], n),
    "words": lambda rng, n: pick(rng, ["1", "2", "n.a.", "3.5", "NA", "?"], n),
    "lists": lambda rng, n: [[1], [2]] * (n // 2) + [[3]] * (n % 2),
    "complex": lambda rng, n: rng.normal(size=n) + 1j,
    "copies": lambda rng, n: np.linspace(0, 1, n),
}
#: How a table reaches the audit.
FILES = {
    "csv": lambda frame, file: frame.to_csv(file, index=False),
    "tsv": lambda frame, file: frame.to_csv(file, index=False, sep="\t"),
    "csv.gz": lambda frame, file: frame.to_csv(file, index=False, compression="gzip"),
    "xlsx": lambda frame, file: file.write_bytes(workbook(frame)),
    "parquet": lambda frame, file: frame.to_parquet(file, row_group_size=16),
    "feather": lambda frame, file: frame.to_feather(file),
}


def pick(rng, values, n: int) -> list:
    return [values[j] for j in rng.integers(0, len(values), n)]


CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n": st.sampled_from([0, 1, 2, 3, 5, 12, 40, 40, 90]),
        "kinds": st.lists(st.sampled_from(sorted(KINDS)), min_size=0, max_size=4),
        "plain": st.integers(0, 3),
        "names": st.lists(st.sampled_from(NAMES), max_size=2),
        "labels": st.sampled_from([("f", "m"), ("a", "b", "c"), *LABELS]),
        "missing": st.sampled_from(["error", "drop", "mean", "indicator"]),
        "crossed": st.booleans(),
    }
)


def table_of(case: dict) -> pd.DataFrame:
    """The table of a draw: some ordinary columns, some of odd kinds, some with odd names, and the groups."""
    rng, n = np.random.default_rng(case["seed"]), case["n"]
    columns = [("group", pick(rng, case["labels"], n)), ("site", pick(rng, ["north", "south"], n))]
    columns += [(f"v{j}", KINDS["normal"](rng, n)) for j in range(case["plain"])]
    columns += [(f"{kind}", KINDS[kind](rng, n)) for kind in case["kinds"]]
    columns += [(name, KINDS["integers"](rng, n)) for name in case["names"]]
    order = rng.permutation(len(columns))
    parts = [pd.Series(columns[j][1]) for j in order]
    frame = pd.concat(parts, axis=1) if n else pd.DataFrame(columns=range(len(parts)))
    return frame.set_axis(pd.Index([columns[j][0] for j in order], dtype=object), axis=1)


def sample_of(table, case: dict, **more):
    options = {"missing": case["missing"], "intersections": case["crossed"], "n_blocks": 5, "max_points": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, about what it makes of such cells
        return read_sample(table, sensitive=["group", "site"], **options | more)


def require_sound(sample) -> None:
    """What every sample says of itself, whatever the table."""
    assert sample.n_used <= sample.n_rows
    counts = sample.groups.groupby("attribute")["rows"].sum()
    assert (counts == sample.n_used).all()
    assert set(counts.index) == set(sample.attributes)
    for name in sample.attributes:
        parts = sample.fitting[name], sample.held_out[name]
        assert sum(part.n for part in parts) == sample.n_used
        for part in parts:
            assert np.isfinite(part.means).all()
            assert np.isfinite(part.scatters).all()
            known = sample.groups.loc[sample.groups["attribute"] == name, "group"]
            assert set(part.labels[name].tolist()) <= set(known)
    for points in (sample.fitting_points, sample.held_out_points):
        assert np.isfinite(points.X).all()


def same(one, other, tolerance=1e-9) -> None:
    """Two samples of one table have the same moments."""
    assert one.feature_names == other.feature_names
    assert one.groups.equals(other.groups)
    for name in one.attributes:
        a, b = one.moments(name), other.moments(name)
        assert a.labels.tolist() == b.labels.tolist()
        np.testing.assert_array_equal(a.counts, b.counts)
        np.testing.assert_allclose(a.means, b.means, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(a.scatters, b.scatters, rtol=tolerance, atol=tolerance * a.n)


def counted(labels: pd.Series) -> list[int]:
    """Rows of each group, told apart without the library: by number where both are numbers, by text otherwise."""

    def key(label):
        try:
            return str(label) if isinstance(label, bool) else float(label)
        except ValueError:
            return label

    known = [key(label) for label in labels.astype(object).where(labels.notna(), "(missing)")]
    return sorted(known.count(one) for one in set(known))


def whole_means(sample, name: str) -> np.ndarray:
    """Means (G, d) of the groups of both parts together."""
    parts = [getattr(sample, part)[name].marginal(name) for part in ("fitting", "held_out")]
    found = []
    for label in sorted({*parts[0].labels.tolist(), *parts[1].labels.tolist()}):
        here = [(part.counts[g], part.means[g]) for part in parts for g in np.flatnonzero(part.labels == label)]
        found.append(sum(n * mean for n, mean in here) / sum(n for n, _ in here))
    return np.array(found)


def test_frames(attack):
    def body(case):
        frame = table_of(case)
        found = sample_of(frame, case)
        require_sound(found)
        rows = found.groups.loc[found.groups["attribute"] == "group", "rows"]
        if found.n_used == found.n_rows:
            assert sorted(rows) == counted(frame["group"])
        # Neither does the order of the rows change what a group is.
        if case["missing"] in ("error", "drop"):
            orders = [frame, frame.sample(frac=1.0, random_state=1)]
            one, other = (sample_of(order, case, standardize=False) for order in orders)
            assert one.feature_names == other.feature_names
            for name in found.attributes:
                a, b = whole_means(one, name), whole_means(other, name)
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(a).max()))
        # Batches change nothing, nor does the order of the columns: features are found by their names.
        same(found, sample_of(frame, case, batch_rows=7))
        turned = sample_of(frame[frame.columns[::-1]], case)
        assert sorted(turned.feature_names) == sorted(found.feature_names)
        at = [turned.feature_names.index(name) for name in found.feature_names]
        for name in found.attributes:
            np.testing.assert_allclose(
                turned.moments(name).means[:, at], found.moments(name).means, rtol=1e-9, atol=1e-9
            )
        # Other names of the groups in the same order give the same numbers.
        labels = sorted(set(found.groups.loc[found.groups["attribute"] == "site", "group"]))
        renamed = sample_of(frame.assign(site=frame["site"].map({"north": "one", "south": "two"})), case)
        assert len(labels) == 2
        np.testing.assert_array_equal(renamed.moments("site").means, found.moments("site").means)
        # The encoder gives a row the same numbers alone as among the others.
        encoded = found.encoder.transform(frame) if found.n_used == found.n_rows else None
        if encoded is not None:
            assert np.isfinite(encoded.to_numpy()).all()
            np.testing.assert_array_equal(found.encoder.transform(frame.tail(1)), encoded.tail(1))

    attack("data frames", "table", CASES, body, draws=(80, 2_000))


@pytest.mark.parametrize("kind", FILES)
def test_files(attack, tmp_path, kind):
    path = tmp_path / f"t.{kind}"

    def body(case):
        frame = table_of(case)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                FILES[kind](frame, path)
        except Exception:  # pandas cannot write such a table: nothing to read
            frame = table_of(case | {"kinds": [], "names": [], "labels": ("f", "m")})
            FILES[kind](frame, path)
        found = sample_of(path, case)
        require_sound(found)
        same(found, sample_of(path, case, batch_rows=7))

    attack(f"{kind} files", "table", CASES, body, draws=(12, 600))


DAMAGE = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "how": st.sampled_from(["nothing", "one byte", "some bytes", "cut", "cut out", "zeros", "twice", "other"]),
    }
)


def damaged(data: bytes, case: dict, others: list[bytes]) -> bytes:
    rng, n = np.random.default_rng(case["seed"]), len(data)
    found, at = bytearray(data), int(rng.integers(n))
    match case["how"]:
        case "one byte":
            found[at] ^= 1 << int(rng.integers(8))
        case "some bytes":
            for where in rng.integers(0, n, 20):
                found[where] = int(rng.integers(256))
        case "cut":
            del found[at:]
        case "cut out":
            del found[at : at + int(rng.integers(1, 200))]
        case "zeros":
            found[at : at + 50] = bytes(len(found[at : at + 50]))
        case "twice":
            found += found[at:]
        case "other":
            found = bytearray(others[int(rng.integers(len(others)))])
    return bytes(found)


@pytest.mark.parametrize("kind", FILES)
def test_damaged_files(attack, tmp_path, kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.integers(0, 9, 60), "job": pick(rng, ["x", "y", "z"], 60)})
    frame["group"], frame["day"] = (
        pick(rng, ["f", "m"], 60),
        pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["b"], "D"),
    )
    whole = {}
    for ending, write in FILES.items():
        write(frame, tmp_path / f"whole.{ending}")
        whole[ending] = (tmp_path / f"whole.{ending}").read_bytes()
    others = [data for ending, data in whole.items() if ending != kind] + [
        b"",
        b"\0" * 99,
        whole["csv"].decode().encode("utf-16-le"),
    ]
    path = tmp_path / f"t.{kind}"

    def body(case):
        path.write_bytes(damaged(whole[kind], case, others))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            require_sound(read_sample(path, sensitive="group", missing="mean", n_blocks=5))

    attack(f"damaged {kind} files", "table", DAMAGE, body, draws=(30, 2_000))


AUDITED = CASES.filter(lambda case: case["n"] >= 40 and case["plain"] + len(case["kinds"]) >= 2)


def test_audits(attack):
    def body(case):
        frame = table_of(case)
        options = {"missing": case["missing"], "n_boot": 20, "k": None if case["crossed"] else 1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = evenspan.audit(frame, sensitive="group", methods=["Min-max loss", "Fair PCA"], **options)
        require_sound(found.sample)
        rows = found.tables["methods"]
        errors = rows[(rows["metric"] == "error") & (rows["method"] == "PCA")]
        average = rows[(rows["metric"] == "average error") & (rows["method"] == "PCA")].set_index(["k", "part"])[
            "value"
        ]
        for (k, part), some in errors.groupby(["k", "part"]):
            assert some["value"].min() - 1e-9 <= average[k, part] <= some["value"].max() + 1e-9
        for answer in found.recommendation.values():
            assert not any("nan" in reason.split() for reason in answer.reason)
        if found.sample.n_used == found.sample.n_rows:
            assert np.isfinite(np.asarray(found.pipeline().transform(frame))).all()

    attack("whole audits", "table", AUDITED, body, draws=(4, 150))
