"""Drawn tables with columns of every usual kind: counted and summed rightly, in any order and file."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenspan import GroupMoments
from evenspan.auditing.sample import Sample, read_sample
from evenspan.core.errors import FairError

#: Kinds of columns: what makes n cells from a generator. Those of NUMERIC have means that pandas can check.
NUMERIC = {
    "normal": lambda rng, n: rng.normal(size=n),
    "scaled": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-12, 13),
    "shifted": lambda rng, n: rng.normal(size=n) + 10.0 ** rng.integers(0, 7),
    "whole": lambda rng, n: rng.integers(-3, 4, n),
}
KINDS = NUMERIC | {
    "constant": lambda rng, n: np.full(n, 3.25),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
    "boolean": lambda rng, n: rng.random(n) < 0.4,
    "few": lambda rng, n: rng.choice(["clerk", "cook", "smith, black"], n),
    "many": lambda rng, n: [f"c{v}" for v in rng.integers(0, 70, n)],
    "text": lambda rng, n: [f"remark {v}" for v in rng.integers(0, 10**9, n)],
    "dates": lambda rng, n: pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 30_000, n), unit="D"),
}
LABELS = [["f", "m"], ["c", "a", "b"], ["n", "e", "s", "w"], [1, 2], [30, 4, -1], [True, False]]


@st.composite
def tables(draw) -> tuple[pd.DataFrame, str, bool]:
    """A table, a rule for its missing cells, and whether it is so ordinary that an answer must come."""
    rng, n = np.random.default_rng(draw(st.integers(0, 2**32 - 1))), draw(st.sampled_from([2, 12, 40, 60, 90]))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6))
    kinds += draw(st.sampled_from([[], ["normal"]]))
    rule = draw(st.sampled_from(["error", "drop", "mean", "indicator"]))
    columns = {f"{kind}{j}": KINDS[kind](rng, n) for j, kind in enumerate(kinds)}
    frame = pd.DataFrame(columns | {"group": rng.choice(draw(st.sampled_from(LABELS)), n)})
    counts = kept(frame, rule)["group"].value_counts()
    plain = "normal" in kinds and not (rule == "error" and frame.isna().any(axis=None))
    return frame, rule, bool(plain and len(counts) > 1 and counts.min() > 4)


def kept(frame: pd.DataFrame, rule: str) -> pd.DataFrame:
    return frame.dropna() if rule == "drop" else frame


def answer(table, rule: str, ordinary: bool, **options) -> Sample | None:
    """The sample; None where the table is refused with words, which an ordinary one may not be."""
    try:
        return read_sample(table, sensitive="group", missing=rule, standardize=False, n_blocks=5, **options)
    except FairError as error:
        if ordinary or len(str(error).split()) < 6:
            raise
        return None


def whole(sample: Sample) -> GroupMoments:
    """The moments of both parts together."""
    return sample.moments("group", "fitting") + sample.moments("group", "held_out")


def assert_same(one: Sample, other: Sample | None, *, parts: bool = True) -> None:
    """Equal counts and moments; which row is in which part depends on its place, so that the parts may be left out."""
    assert other is not None
    at = [other.feature_names.index(name) for name in one.feature_names]
    assert len(at) == other.d
    pairs = [(whole(one), whole(other))]
    pairs += [(one.moments("group", part), other.moments("group", part)) for part in ("fitting", "held_out") if parts]
    for a, b in pairs:
        assert a.labels.tolist() == b.labels.tolist()
        np.testing.assert_array_equal(a.counts, b.counts)
        unit = np.sqrt(np.diagonal(a.scatter) / a.n) + np.abs(a.mean)
        unit[unit == 0] = 1.0
        np.testing.assert_allclose(a.means / unit, b.means[:, at] / unit, atol=1e-9)
        area = np.outer(unit, unit)
        np.testing.assert_allclose(a.scatters / area, b.scatters[:, at][:, :, at] / area, atol=1e-9 * a.n)


@given(tables())
def test_counts_and_means_are_those_of_pandas(table):
    frame, rule, ordinary = table
    if (found := answer(frame, rule, ordinary)) is None:
        return
    # A column of which every value is missing or of a kind that is left out loses no rows.
    used = kept(frame, rule)
    assert (found.n_rows, found.n_used) == (len(frame), len(used))
    expected = used.groupby(used["group"].astype(str))
    assert dict(zip(found.groups["group"], found.groups["rows"], strict=True)) == expected.size().to_dict()
    moments = whole(found)
    for column in [name for name in found.feature_names if name.rstrip("0123456789") in NUMERIC]:
        means = moments.means[:, found.feature_names.index(column)]
        wanted = expected[column].mean().loc[moments.labels.tolist()]
        np.testing.assert_allclose(means, wanted, rtol=1e-9, atol=1e-9 * used[column].abs().max())


@given(tables())
def test_the_order_of_rows_and_columns_does_not_matter(table):
    frame, rule, ordinary = table
    if (found := answer(frame, rule, ordinary)) is None:
        return
    assert_same(found, answer(frame[frame.columns[::-1]], rule, ordinary))
    if rule in ("error", "drop"):  # the others fill a cell by the mean of the part in which its row is
        assert_same(found, answer(frame.sample(frac=1.0, random_state=1), rule, ordinary), parts=False)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@given(table=tables())
def test_a_file_gives_the_moments_of_the_table(kind, tmp_path_factory, table):
    frame, rule, ordinary = table
    if (found := answer(frame, rule, ordinary)) is None:
        return
    path = tmp_path_factory.getbasetemp() / f"drawn.{kind}"
    getattr(frame, f"to_{kind}")(path, index=False)
    assert_same(found, answer(path, rule, ordinary))
