"""Tables from anywhere: the same rows whatever the file, and every trouble told."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from evenspan.auditing.read import open_table
from evenspan.core.errors import DataError, FairError

from .samples import diabetes, people


def whole(path, **options) -> pd.DataFrame:
    return pd.concat(list(open_table(path).batches(**options)), ignore_index=True)


def same(found: pd.DataFrame, frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, frame.reset_index(drop=True), check_dtype=False, rtol=1e-12)


@pytest.fixture
def frame() -> pd.DataFrame:
    return people(200)


@pytest.mark.parametrize("rows", [None, 7, 200])
@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "feather", "xlsx"])
def test_every_file_gives_the_rows_that_were_written(frame, tmp_path, kind, rows):
    path = tmp_path / f"people.{kind}"
    writers = {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "csv.gz": lambda: frame.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path, row_group_size=64),
        "feather": lambda: frame.to_feather(path),
        "xlsx": lambda: frame.to_excel(path, index=False),
    }
    writers[kind]()
    table = open_table(path)
    assert table.columns == tuple(frame)
    same(whole(path, rows=rows), frame)
    same(whole(str(path), rows=rows, columns={"job", "age"}), frame[["age", "job"]])
    if rows == 7:
        assert max(map(len, table.batches(rows=7))) == 7


def test_a_data_frame_is_read_in_place(frame):
    table = open_table(frame)
    same(pd.concat(table.batches(rows=33)), frame)
    assert np.shares_memory(next(iter(table.batches(columns=["age"])))["age"].to_numpy(), frame["age"].to_numpy())
    same(whole(pa.Table.from_pandas(frame)), frame)


def test_a_folder_of_parquet_files_with_a_column_in_its_names(frame, tmp_path):
    pa.dataset.write_dataset(
        pa.Table.from_pandas(frame), tmp_path / "parts", format="parquet", partitioning=["race"],
        partitioning_flavor="hive",
    )  # fmt: skip
    found = whole(tmp_path / "parts", rows=11).sort_values("customer", ignore_index=True)
    assert found["race"].tolist() == frame["race"].tolist()
    same(found[list(frame)].astype({"race": object}), frame.astype({"race": object}))


def test_the_index_of_a_written_frame_is_no_column(frame, tmp_path):
    frame.set_index("name").to_parquet(tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    assert "name" not in table.columns
    assert table.notes == ["name: the index of a data frame, not read"]


# -- how a CSV file is written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"sep": ";", "decimal": ","}, "numbers are written with a decimal comma"),
        ({"sep": ";"}, "cells are separated by semicolons"),
        ({"sep": "|"}, "cells are separated by vertical bars"),
        ({"sep": "\t"}, "cells are separated by tabs"),
        ({"encoding": "utf-8-sig"}, ""),
        ({"encoding": "utf-16", "sep": "\t"}, "the text is encoded as utf-16"),
        ({"quoting": 1, "lineterminator": "\r\n"}, ""),
    ],
)
def test_separator_decimal_mark_and_encoding_are_found_out_and_said(frame, tmp_path, options, note):
    frame["job"] = frame["job"].replace({"nurse": 'a "good" nurse\nat night', "cook": "Köchin"})
    frame.to_csv(tmp_path / "t.csv", index=False, **options)
    same(whole(tmp_path / "t.csv"), frame)
    notes = open_table(tmp_path / "t.csv").notes
    assert note in notes or not note
    assert len(notes) == 1 + bool(note) + (options.get("decimal") == ",") + ("16" in options.get("encoding", ""))


def test_texts_that_stand_for_missing_values_are_read_so_and_said(tmp_path):
    (tmp_path / "t.csv").write_text("a, b\n1, ?\n, x\nNA, None\n")
    found = whole(tmp_path / "t.csv")
    assert found["a"].isna().tolist() == [False, True, True]
    assert found["b"].tolist()[1:] == ["x", "None"]  # a word that may well be meant
    assert "empty cells and ?, NA" in open_table(tmp_path / "t.csv").notes[0]


def test_a_column_without_a_name_is_called_by_its_position(frame, tmp_path):
    frame[["age", "sex"]].to_csv(tmp_path / "t.csv")
    table = open_table(tmp_path / "t.csv")
    assert table.columns == ("column 1", "age", "sex")
    assert "called by their position: column 1" in table.notes[0]


def test_types_are_those_asked_for_in_every_batch(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 50 + "x,3\n")
    texts = whole(tmp_path / "t.csv", types={"a": "text", "b": "number"}, rows=10)
    assert texts["a"].tolist() == ["1"] * 50 + ["x"]
    assert texts["b"].dtype == float


def test_sheets_of_a_workbook(frame, tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        frame.head(5).to_excel(book, sheet_name="first", index=False)
        diabetes().to_excel(book, sheet_name="second", index=False, startrow=2, startcol=1)
    assert "the first of 2 sheets, 'first', was read" in open_table(path).notes[0]
    second = open_table(f"{path}::second")
    assert second.notes == []
    same(pd.concat(second.batches()), diabetes())
    with pytest.raises(DataError, match=r"has no sheet 'secnd'\. Did you mean 'second'"):
        open_table(f"{path}::secnd")


# -- what cannot be read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n\n", "is empty"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.csv", b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
        ("t.csv", b"a,b\n1,2,3\n1,2,3\n", "more cells than the 2 names"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "Expected 2 fields in line 3, saw 3"),
        ("t.csv", "a,b\nM\xfcller,2\n".encode("latin-1"), "not encoded as UTF-8 .byte 0xfc.*iconv"),
        ("t.csv.gz", b"no gzip", "cannot be read"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:30], "cannot be read"),
        ("t.parquet", b"PAR1", "cannot be read"),
        ("t.feather", b"ARROW1", "cannot be read"),
        ("t.xlsx", b"PK", "cannot be read as an Excel workbook"),
        ("t.json", b"{}", "with the ending .json are not read"),
        ("t.xls", b"", "with the ending .xls are not read"),
    ],
)
def test_files_that_cannot_be_read_are_told(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FairError, match=message):
        whole(tmp_path / name)


def test_what_is_no_table_is_told(frame, tmp_path):
    with pytest.raises(DataError, match="a ndarray is no table"):
        open_table(np.ones((3, 2)))
    with pytest.raises(DataError, match="has no rows"):
        open_table(frame.head(0))
    with pytest.raises(DataError, match="has no columns"):
        open_table(pd.DataFrame(index=range(3)))
    with pytest.raises(DataError, match="more than one column named 'age'"):
        open_table(pd.concat([frame, frame["age"]], axis=1))
    with pytest.raises(DataError, match="names of 2 levels"):
        open_table(pd.DataFrame({("a", "b"): [1]}))
    frame.to_csv(tmp_path / "people.csv")
    with pytest.raises(DataError, match=r"does not exist. Did you mean people.csv"):
        open_table(tmp_path / "peple.csv")
    with pytest.raises(DataError, match="only Excel workbooks"):
        open_table(f"{tmp_path / 'people.csv'}::first")
    with pytest.raises(DataError, match="found no such file"):
        open_table(folder_in(tmp_path))


def folder_in(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def test_parquet_files_of_different_columns_are_told(frame, tmp_path):
    folder = folder_in(tmp_path)
    frame.to_parquet(folder / "a.parquet")
    frame.drop(columns="age").to_parquet(folder / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has no column 'age'"):
        open_table(folder)


def test_no_such_column_is_told_with_what_may_be_meant(tmp_path):
    (tmp_path / "t.csv").write_text("Sex,age\nf,1\n")
    with pytest.raises(DataError, match=r"sensitive: t\.csv has no column 'sex'\. Did you mean 'Sex'"):
        open_table(tmp_path / "t.csv").require(["sex"], "sensitive")
    (tmp_path / "t.csv").write_text("1.5,2\n3,4\n")
    with pytest.raises(DataError, match="The first line looks like data"):
        open_table(tmp_path / "t.csv").require(["sex"], "sensitive")
