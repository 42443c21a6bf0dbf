"""Tables from anywhere: the same rows whatever the file, and every trouble told."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from pyarrow import feather

from evenspan.auditing.read import open_table
from evenspan.core.errors import DataError, FairError, LimitError

from .tables import diabetes, people


def whole(path, **options) -> pd.DataFrame:
    return pd.concat(list(open_table(path).batches(**options)), ignore_index=True)


def same(found: pd.DataFrame, frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, frame.reset_index(drop=True), check_dtype=False, rtol=1e-12)


@pytest.fixture
def frame() -> pd.DataFrame:
    return people(200)


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, row_group_size=64),
    "feather": lambda frame, path: frame.to_feather(path),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_file_gives_the_rows_that_were_written(frame, tmp_path, kind):
    path = tmp_path / f"people.{kind}"
    WRITERS[kind](frame, path)
    assert open_table(path).columns == tuple(frame)
    for rows in (None, 7, 200):
        same(whole(path, rows=rows), frame)
        same(whole(str(path), rows=rows, columns={"job", "age"}), frame[["age", "job"]])
    assert max(map(len, open_table(path).batches(rows=7))) == 7


def test_a_data_frame_is_read_in_place(frame):
    table = open_table(frame)
    same(pd.concat(table.batches(rows=33)), frame)
    assert np.shares_memory(next(iter(table.batches(columns=["age"])))["age"].to_numpy(), frame["age"].to_numpy())
    same(whole(pa.Table.from_pandas(frame)), frame)


def test_parquet_folders_columns_in_their_names_and_the_index_of_a_frame(frame, tmp_path):
    parts = tmp_path / "parts"
    hive = {"partitioning": ["race"], "partitioning_flavor": "hive"}
    pa.dataset.write_dataset(pa.Table.from_pandas(frame), parts, format="parquet", **hive)
    found = whole(parts, rows=11).sort_values("customer", ignore_index=True)
    same(found[list(frame)].astype({"race": object}), frame.astype({"race": object}))
    frame.set_index("name").to_parquet(tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    assert "name" not in table.columns
    assert table.notes == ["name: the index of a data frame, not read"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="found no such file"):
        open_table(tmp_path / "folder")
    frame.to_parquet(tmp_path / "folder" / "a.parquet")
    frame.drop(columns="age").to_parquet(tmp_path / "folder" / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has no column 'age'"):
        open_table(tmp_path / "folder")


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"sep": ";", "decimal": ","}, "numbers are written with a decimal comma"),
        ({"sep": "|"}, "cells are separated by vertical bars"),
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


def test_missing_cells_columns_without_a_name_and_types(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a, \n1, ?\n, x\nNA, None\n")
    found, table = whole(path), open_table(path)
    assert found["a"].isna().tolist() == [False, True, True]
    assert found["column 2"].isna().tolist() == [True, False, False]  # None is a word that may well be meant
    assert "called by their position: column 2" in table.notes[0]
    assert "empty cells and ?, NA" in table.notes[1]
    path.write_text("a,b\n" + "1,2\n" * 50 + "x,3\n")
    texts = whole(path, types={"a": "text", "b": "number"}, rows=10)
    assert texts["a"].tolist() == ["1"] * 50 + ["x"]
    assert texts["b"].dtype == float


def test_sheets_of_a_workbook(frame, tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        frame.head(5).to_excel(book, sheet_name="first", index=False)
        diabetes().to_excel(book, sheet_name="second", index=False, startrow=2, startcol=1)
    assert "the first of 2 sheets, 'first', was read" in open_table(path).notes[0]
    assert open_table(f"{path}::second").notes == []
    same(whole(f"{path}::second"), diabetes())
    assert open_table(f"{path}::second").name == f"{path.name}::second"  # or the command of the report reads the first
    with pytest.raises(DataError, match=r"has no sheet 'secnd'\. Did you mean 'second'"):
        open_table(f"{path}::secnd")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"\n\n", "is empty"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.csv", b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
        ("t.csv", b"a,b\n1,2,3\n1,2,3\n", "more cells than the 2 names"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "Expected 2 fields in line 3, saw 3"),
        ("t.csv", "a,b\nM\xfcller,2\n".encode("latin-1"), "not encoded as UTF-8 .byte 0xfc.*iconv"),
        ("t.csv.gz", b"no gzip", "cannot be read"),
        ("t.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), "packed with gzip, whatever its name.*ends with .gz"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16-le"), "UTF-16 without a mark.*iconv -f UTF-16LE -t UTF-8 t.csv"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16-be"), "UTF-16 without a mark.*iconv -f UTF-16BE"),
        ("t.csv", b"a,b\n1,\0\n", "holds NUL bytes"),
        ("t.csv", b"PK\3\4" + bytes(99), "a zip archive.*ends with .xlsx"),
        ("t.xlsx", b"\xd0\xcf\x11\xe0" + bytes(99), "with a password, or one of before 2007"),
        ("t.parquet", b"a,b\n1,2\n", "cannot be read"),
        ("t.csv", b"a" * 1001 + b",b\n1,2\n", "whose name has 1,001 characters, more than 1,000"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:30], "cannot be read"),
        ("t.parquet", b"PAR1", "cannot be read"),
        ("t.feather", b"ARROW1", "cannot be read"),
        ("t.xlsx", b"PK", "cannot be read as an Excel workbook"),
        ("t.json", b"{}", "with the ending .json are not read"),
        ("people.csv", b"a,b\n1,2\n", "::first: only Excel workbooks"),
        ("people.csv", b"a,b\n1,2\n", "does not exist. Did you mean people.csv"),
    ],
)
def test_files_that_cannot_be_read_are_told(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    asked = {"::f": f"{name}::first", "doe": "peple.csv"}.get(message[:3], name)
    with pytest.raises(FairError, match=message):
        whole(tmp_path / asked)


def test_offsets_outside_of_an_arrow_file_are_told_before_they_are_followed(tmp_path):
    table = pa.table({"sex": ["f", "m", "m"] * 100, "x": np.arange(300.0)})
    feather.write_feather(table, path := tmp_path / "t.feather", compression="uncompressed")
    offsets = np.arange(301, dtype="<i4").tobytes()
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, (np.arange(301, dtype="<i4") * 2**22).tobytes()))
    with pytest.raises(DataError, match=r"t\.feather cannot be read as Parquet or Arrow"):
        whole(path)


def test_a_line_or_a_sheet_without_end_is_refused_before_it_fills_memory(tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wb") as file:
        file.write(b"a,b\n1,2\n" + b"0" * 2**17)
        for _ in range(65):
            file.write(bytes([48]) * 2**20)
    with pytest.raises(LimitError, match=r"line of more than 67,108,864 characters"):
        whole(tmp_path / "t.csv.gz")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_excel(book, index=False)
        book.sheets["Sheet1"].cell(1_000_000, 1, "far")
        book.sheets["Sheet1"].cell(1, 2_000, "off")
    with pytest.raises(LimitError, match=r"2,000 columns are more than 134,217,728 cells.*stand far from the table"):
        open_table(tmp_path / "t.xlsx")


def test_a_bit_that_turned_in_a_parquet_file_with_checksums_is_noticed(frame, tmp_path):
    path = tmp_path / "t.parquet"
    frame[["age"]].to_parquet(path, compression=None, use_dictionary=False, write_page_checksum=True)
    same(whole(path), frame[["age"]])
    data = bytearray(path.read_bytes())
    at = data.index(frame["age"].to_numpy()[100:104].tobytes())
    data[at + 6] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        whole(path)


def test_an_archive_that_unpacks_to_more_than_memory_is_refused(frame, tmp_path, monkeypatch):
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    monkeypatch.setattr("evenspan.core.inputs.free_memory", lambda: 2**20)
    monkeypatch.setattr("evenspan.auditing.read.EXCEL_BYTES", 2**12)
    with pytest.raises(LimitError, match=r"unpacked .* would need .*Save the sheet as CSV"):
        open_table(tmp_path / "t.xlsx")


def test_a_path_that_is_no_text_is_told(tmp_path):
    for text in ("t\udcff.csv", "t\0.csv"):
        with pytest.raises(DataError, match=r"the path .*Rename the file"):
            open_table(str(tmp_path / text))


def test_what_is_no_table_is_told(frame, tmp_path):
    for table, message in (
        (np.ones((3, 2)), "a ndarray is no table"),
        (frame.head(0), "has no rows"),
        (pd.DataFrame(index=range(3)), "has no columns"),
        (pd.concat([frame, frame["age"]], axis=1), "more than one column named 'age'"),
        (pd.DataFrame({("a", "b"): [1]}), "names of 2 levels"),
    ):
        with pytest.raises(DataError, match=message):
            open_table(table)
    for text, message in (
        ("Sex,age\nf,1\n", "'sex'. Did you mean 'Sex'"),
        ("1.5,2\n3,4\n", "first line looks like data"),
    ):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(DataError, match=message):
            open_table(tmp_path / "t.csv").require(["sex"], "sensitive")
