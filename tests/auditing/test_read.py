"""Tables from anywhere: one reading of what is written, or a question in one sentence; never a guess."""

import gzip
import re
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from evenspan.auditing.columns import use_of
from evenspan.auditing.read import open_table
from evenspan.auditing.sample import read_sample
from evenspan.core.errors import ConfigurationError, DataError, FairError, LimitError

from .tables import people


def lines(*rows: str, end: str = "\n") -> str:
    return end.join(rows) + end


def column(name: str, *cells: str, sep: str = ";") -> str:
    """A file of two columns, of which the second holds these cells."""
    return lines(f"sex{sep}{name}", *(f"{'fm'[j % 2]}{sep}{cell}" for j, cell in enumerate(cells)))


GERMAN = column("pay", "1.234,50", "987,5", "12.345,00")
TITLED = lines("Report of 2023", "", "sex,age,pay", "f,30,1.5", "m,40,2.5", "f,50,3.5")
SURVEY = lines("q1,q2", "Sex?,Hours", "{id},{id}", "f,38", "m,40", "f,35")
BARE = lines("39,State-gov,77516,Male", "50,Private,83311,Male", "38,State-gov,215646,Female", "28,Private,4,Male")
#: What is written, the options, and the columns as they are read, or what is asked.
FILES = [
    ("decimal comma", column("x", "1,75", "2,5", "3"), {}, {"x": [1.75, 2.5, 3]}),
    ("German", GERMAN, {}, {"pay": [1234.5, 987.5, 12345]}),
    ("Swiss", column("pay", "1'234.50", "987", "12\u2019345"), {}, {"pay": [1234.5, 987, 12345]}),
    ("French", column("pay", "1\u202f234,5", "987", "12\u00a0345"), {}, {"pay": [1234.5, 987, 12345]}),
    ("American", column("pay", '"1,234.50"', "987", '"12,345"', sep=","), {}, {"pay": [1234.5, 987, 12345]}),
    ("millions", column("pay", "1,234,567", "12,345"), {}, {"pay": [1234567, 12345]}),
    ("minus sign", column("x", "\u22121,5", "+2"), {}, {"x": [-1.5, 2]}),
    ("two conventions", column("x", "1.75", "1,75", "2"), {}, {"x": ["1.75", "1,75", "2"]}),
    ("thousand or one", column("pay", "987", "12,345"), {}, "column 'pay' 12.345 or 12345.*--thousands ','"),
    ("the same, points", column("pay", "987", "12.345"), {}, "Every '.' of .*--decimal '.' or --thousands '.'"),
    ("the same in tabs", column("pay", "987", "12,345", sep="\t"), {}, "12.345 or 12345"),
    ("beside 1,75", lines("a;b", "12.345;1,75", "7.000;1,80"), {}, "12.345 or 12345"),
    ("beside 1.75", lines("a,b", "12.345,1.75", "7.000,1.80"), {}, {"a": [12.345, 7], "b": [1.75, 1.8]}),
    ("told: thousands", column("pay", "987", "12,345"), {"thousands": ","}, {"pay": [987, 12345]}),
    ("told: decimal", column("pay", "987", "12,345"), {"decimal": ","}, {"pay": [987, 12.345]}),
    ("told: both", lines("a;b", "12.345;1,75"), {"decimal": ",", "thousands": "."}, {"a": [12345], "b": [1.75]}),
    ("zip codes", column("zip", "01067", "10115"), {}, {"zip": ["01067", "10115"]}),
    ("long numbers", column("no", "12345678901234567", "7"), {}, {"no": ["12345678901234567", "7"]}),
    ("infinite", column("x", "inf", "-Infinity", "1"), {}, {"x": [np.inf, -np.inf, 1]}),
    ("units", column("x", "5 %", "$7", "1,5 €"), {}, {"x": ["5 %", "$7", "1,5 €"]}),
    ("gaps", column("x", "", "None", "\\N", "1", "?"), {}, {"x": [np.nan, np.nan, np.nan, 1, np.nan]}),
    ("sep=", "sep=;\n" + column("x", "1,5", "2"), {}, {"x": [1.5, 2]}),
    ("blanks", lines("a, b", "1, x", "2,  y "), {}, {"a": [1, 2], "b": ["x", "y"]}),
    ("quoted", lines('"a","b"', '"1","x, ""y""\nz"', '"2","w"'), {}, {"a": [1, 2], "b": ['x, "y"\nz', "w"]}),
    ("separators of lines", column("a\x0bb", "u\u2028v", "w\x85x\x1c."), {}, {"a\x0bb": ["u\u2028v", "w\x85x\x1c."]}),
    ("UTF-8 with a mark", b"\xef\xbb\xbf" + '"größe";b\n1,5;2\n'.encode(), {}, {"größe": [1.5], "b": [2]}),
    ("UTF-16", GERMAN.encode("utf-16"), {}, {"pay": [1234.5, 987.5, 12345]}),
    ("Windows", "a,b\nMüller,2\n".encode("cp1252"), {}, "not encoded as UTF-8.*iconv"),
    ("an open quotation mark", lines("a,b", '1,"x', "2,y"), {}, "in line 2 is never closed, so that 1 row"),
    ("open within", lines("a,b", '1,"x', '2,"y"', '3,"z"'), {}, "line 2 is closed in line 3, .*1 row.s. are swallowed"),
    ("two open", lines("a,b", '1,"x', '2,"y"', '3,"z"', '4,"v', '5,"w"'), {}, "mark in line 2 is closed in line 3"),
    ("open, all quoted", lines('"a","b"', '"1","x', '"2","y"'), {}, "mark in line 2 is closed in line 3"),
    ("open, of two cells", lines("a,b", '"1,"x, y"', '2,"z"'), {}, "in line 2 is closed in line 2, where the cell"),
    ("backslashes", lines("a,b", r'1,"the \"x\", y"'), {}, "line 2 is closed behind a backslash.*escapechar"),
    ("a path", lines("a,b", r'1,"C:\"', r'2,"D:\"'), {}, {"b": ["C:\\", "D:\\"]}),
    ("inches", lines("a,b", '1,5" tall', '2,"6" small"'), {}, {"b": ['5" tall', '6 small"']}),
    ("short line", lines("a,b", "1,2", "3", "4,5"), {}, "more or fewer cells than the 2 names.*got 1: 3"),
    ("title", TITLED, {}, "line 1 'Report of 2023' does not name.*--skip-rows 2"),
    ("title with commas", lines("Report, 2023,", "id,sex,age", *["1,f,30"] * 3), {}, "--skip-rows 1"),
    ("units", lines("sex,age", "-,years", *["f,30"] * 3), {}, "line 2 .*holds no number.*delete that line"),
    ("questions and ids", SURVEY, {}, "line 2 'Sex[?]; Hours' and line 3 .* hold no .*--skip-rows 2.*these lines"),
    ("questions, told", SURVEY, {"header": True}, {"q1": ["Sex?", "{id}", "f", "m", "f"]}),
    ("no first age", lines("sex,age", "f,", "m,40", "f,50", "m,60"), {}, {"age": [np.nan, 40, 50, 60]}),
    ("title, told", TITLED, {"skip_rows": 2}, {"age": [30, 40, 50]}),
    ("no names", BARE, {}, "first line looks like data.*--no-header"),
    ("no names of text", lines("Male,yes", "Female,no", "Male,no"), {}, "'Male' is also a value.*--no-header"),
    ("no names, told", BARE, {"header": False}, {"column 1": [39, 50, 38, 28]}),
    ("inflation", lines("year,inf", "2001,1.5", "2002,2.5"), {}, {"inf": [1.5, 2.5]}),
    ("years are names", lines("land,2019,2022", "a,1,2", "b,3,4"), {}, {"2019": [1, 3]}),
    ("positions are names", lines("0,1,2", "5,6,7", "8,9,9"), {}, {"0": [5, 8]}),
    ("twice the same name", lines("a,b,a", "1,2,3"), {}, "more than one column named 'a'"),
    ("row names of R", lines('"a","b"', '"r1",1,2', '"r2",3,4'), {}, {"column 1": ["r1", "r2"], "a": [1, 3]}),
    ("separators at the end", lines("a,b", "1,2,", "1,4,"), {}, {"a": [1, 1], "b": [2, 4]}),
    ("one cell a line", lines("a~b", "1~2"), {}, "every line is one cell, the first 'a~b'"),
    ("an empty file", "\n\n", {}, "is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "options", "expected"), [case[1:] for case in FILES], ids=[c[0] for c in FILES])
def test_a_text_file_has_one_reading_or_is_asked_about(tmp_path, content, options, expected):
    path = tmp_path / "v1::final.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if isinstance(expected, str):
        with pytest.raises(FairError, match=expected):
            open_table(path, **options)
        return
    frame = open_table(str(path), **options).frame
    for name, cells in expected.items():
        if isinstance(cells[0], int | float):
            assert frame[name].dtype.kind == "f"
            assert frame[name].tolist() == pytest.approx(cells, nan_ok=True)
        else:
            assert frame[name].astype(object).where(frame[name].notna(), None).tolist() == cells


RNG, N = np.random.default_rng(0), 120
#: Cells that look like something else than what they are used as, and what is said of them first of all.
WARNED = {
    "zip": ([f"{v:05d}" for v in RNG.integers(0, 9999, N)], "leading zeros"),
    "card": ([str(10**16 + int(v)) for v in RNG.integers(0, 10**15, N) * 2 + 1], "more digits than a number holds"),
    "money": ([f"${v:,.2f}" for v in RNG.uniform(1e3, 1e6, N)], "looks like numbers, but row 1 has '[$]"),
    "rate": ([f"{v:.1f} %" for v in RNG.random(N) * 100], "looks like numbers, but row 1"),
    "mixed": ([f"{v:.2f}" if v > 1 else f"{v:.2f}".replace(".", ",") for v in RNG.random(N) * 2], None),
    "day": ([f"{v % 28 + 1:02d}.{v % 12 + 1:02d}.2023" for v in range(N)], "looks like dates written as '01.01.2023'"),
    "few": (RNG.choice(["5 %", "10 %"], N), "looks like numbers"),
    "kids": (RNG.choice(["0", "1", "2", "3+"], N), "looks like numbers, but row .* has '3[+]'"),
}


def test_what_looks_like_numbers_or_dates_and_is_not_read_so_is_a_warning(tmp_path):
    frame = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "x": RNG.normal(size=N)})
    for name, (cells, message) in WARNED.items():
        frame.assign(**{name: cells}).to_csv(tmp_path / "t.csv", index=False, sep="\t")
        for source in (tmp_path / "t.csv", frame.assign(**{name: cells})):
            if message is None:
                with pytest.raises(DataError, match=f"column {name!r}: .* of 120 values are numbers, but row"):
                    read_sample(source, sensitive="sex")
                continue
            sample = read_sample(source, sensitive="sex")
            assert [bool(re.search(message, one)) for one in sample.warnings] == [True], sample.warnings
            assert sample.notes[0] == sample.warnings[0]
    assert read_sample(frame, sensitive="sex").warnings == ()


@pytest.mark.parametrize("frame", [people(200), people(200).sample(90, random_state=0)], ids=["whole", "sample"])
def test_a_written_row_index_is_left_out(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv")
    for source in (tmp_path / "t.csv", pd.read_csv(tmp_path / "t.csv")):
        sample = read_sample(source, sensitive="sex")
        assert "the row index, which was written" in sample.columns["note"][0]
        assert any("Left out, with the reason" in note for note in sample.notes)


TEXTS = {"csv": {}, "csv.gz": {}, "csv.bz2": {}, "tsv": {"sep": "\t"}, "txt": {"sep": "|", "encoding": "utf-16"}}
WRITERS = {kind: ("to_csv", {"index": False} | options) for kind, options in TEXTS.items()}
WRITERS |= {"parquet": ("to_parquet", {}), "feather": ("to_feather", {}), "xlsx": ("to_excel", {"index": False})}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_file_gives_the_rows_that_were_written(tmp_path, kind):
    frame, path, (writer, options) = people(200), tmp_path / f"people.{kind}", WRITERS[kind]
    getattr(frame, writer)(path, **options)
    table = open_table(path)
    assert table.columns == tuple(frame)
    expected = frame.astype({"employed": str}) if kind in TEXTS else frame
    for name in frame:
        assert table.frame[name].tolist() == expected[name].tolist(), name
        assert use_of(table.frame[name]) == use_of(frame[name])


def test_data_frames_folders_and_the_index_of_a_frame(tmp_path):
    frame = people(200)
    years = frame.assign(year=np.arange(200) % 3 + 2018)
    years.to_parquet(tmp_path / "years", partition_cols=["year", "race"])
    for table in (open_table(tmp_path / "years"), open_table(tmp_path / "years" / "year=2018" / "race=a")):
        assert table.frame.get("year", pd.Series(2018)).dtype.kind == "i"  # a number, as in the frame
    assert sorted(open_table(tmp_path / "years").frame["year"]) == sorted(years["year"])
    assert np.shares_memory(open_table(frame).frame["age"].to_numpy(), frame["age"].to_numpy())
    assert open_table(pa.Table.from_pandas(frame)).frame.equals(frame)
    frame.to_parquet(tmp_path / "parts", partition_cols=["race"])
    assert sorted(open_table(tmp_path / "parts").frame["customer"]) == frame["customer"].tolist()
    frame.set_index("name").to_parquet(tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    assert "name" not in table.columns
    assert table.notes == ("name: the index of a data frame, not read",)
    texts = pd.DataFrame({"sex": ["f", "m"], "pay": ["1.234,5", "7"], "zip": ["01067", "10115"]})
    assert open_table(texts).frame["pay"].tolist() == ["1.234,5", "7"]  # types of a frame are its owner's
    assert open_table(texts, decimal=",", thousands=".").frame.equals(texts.assign(pay=[1234.5, 7]))


def test_sheets_of_a_workbook(tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        people(5).to_excel(book, sheet_name="first", index=False)
        people(9).to_excel(book, sheet_name="second", index=False, startrow=2, startcol=1)
        titled = [["Report of 2023", None, None], [None] * 3, ["sex", "age", "x"], ["f", 1, "None"], ["m", 2, 3]]
        pd.DataFrame(titled).to_excel(book, sheet_name="third", index=False, header=False)
    assert "the first of 3 sheets, 'first', was read" in open_table(path).notes[0]
    second = open_table(f"{path}::second")
    assert second.frame["income"].tolist() == people(9)["income"].tolist()
    assert second.name == "t.xlsx::second"  # or the command of the report reads the first
    with pytest.raises(DataError, match=r"has no sheet 'secnd'\. Did you mean 'second'"):
        open_table(f"{path}::secnd")
    with pytest.raises(DataError, match="--skip-rows 2"):
        open_table(f"{path}::third")
    third = open_table(f"{path}::third", skip_rows=2)
    assert third.frame["age"].tolist() == [1, 2]
    assert third.notes == ("read as missing, besides empty cells: 'None' (1)",)


def test_what_a_workbook_hides_and_formulas_without_values_are_told(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        for name in ("first", "second"):
            people(20).to_excel(book, sheet_name=name, index=False)
    assert open_table(tmp_path / "t.xlsx").doubts == ()
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    sheet, width = book["first"], people(20).shape[1]
    sheet.row_dimensions[5].hidden = sheet.row_dimensions[7].hidden = sheet.column_dimensions["F"].hidden = True
    sheet.cell(1, width + 1).value = "double"
    for row in range(2, 22):
        sheet.cell(row, width + 1).value = f"=E{row} * 2"
    book["second"].sheet_state = "hidden"
    book.save(tmp_path / "t.xlsx")
    told = " ".join(open_table(tmp_path / "t.xlsx").doubts)
    for words in (
        "2 rows (the first in line 5) are hidden",
        "columns 'income' are hidden",
        "sheets of the workbook: 's",
    ):
        assert words in told
    assert "formulas without values, read as missing: 'double' (20)" in told
    assert len(open_table(f"{tmp_path}/t.xlsx::second").doubts) == 1  # its own name


def test_codes_for_no_answer_become_missing_where_they_are_named(tmp_path):
    frame = pd.DataFrame(
        {"a": ["1,5", "-999", "x", " "], "b": [99, 1, 99, 2], "day": ["1900-01-01", *["2020-02-03"] * 3]}
    )
    frame["when"] = pd.to_datetime(frame["day"])
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    for source in (frame, tmp_path / "t.csv"):
        table = open_table(source, missing_codes=[-999, "x", 99.0, "1900-01-01"])
        assert table.frame.isna().sum().to_dict() == {"a": 3, "b": 2, "day": 1, "when": 1}
        assert "b '99' (2); day '1900-01-01' (1)" in table.notes[-1] or "b '99' (2); day" in " ".join(table.notes)
    assert table.frame["a"].dtype == float  # what remains of the texts is a number
    assert frame["b"].tolist() == [99, 1, 99, 2]
    table = open_table(frame, missing_codes={"b": [1]})
    assert table.frame["b"].isna().tolist() == [False, True, False, False]
    assert table.frame["a"].tolist()[:3] == ["1,5", "-999", "x"]
    with pytest.raises(DataError, match="missing_codes: table has no column 'c'"):
        open_table(frame, missing_codes={"c": [1]})
    for wrong in ("-999", -999, {"b": 99}):
        with pytest.raises(ConfigurationError, match=r"missing_codes=.* needed is a list of codes, such as"):
            open_table(frame, missing_codes=wrong)


def test_what_was_read_as_missing_and_how_is_said(tmp_path):
    (tmp_path / "t.csv").write_text("sep=;\na;b\n1,5;None\n2;x\n?;\\N\n;NA\n")
    notes = open_table(tmp_path / "t.csv").notes
    assert notes[0] == "cells are separated by semicolons"
    assert notes[-1] == "a: numbers such as '1,5' were read as 1.5"
    assert all(word in notes[1] for word in ("'?' (1)", "'None' (1)", "'\\\\N' (1)", "'NA' (1)"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), "no text in UTF-8"),
        ("t.csv", b"PK\3\4" + bytes(99), "another kind than its ending"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:30], "cannot be read"),
        ("t.parquet", b"a,b\n1,2\n", "cannot be read"),
        ("t.json", b"{}", "with the ending .json are not read"),
        ("people.csv", b"a,b\n1,2\n", "does not exist. Did you mean people.csv"),
    ],
)
def test_files_that_are_something_else_are_told(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FairError, match=message):
        open_table(tmp_path / name.replace("people", "peple"))


def test_what_is_no_table_is_told(tmp_path, monkeypatch):
    frame = people(20)
    for table, message in (
        (np.ones((3, 2)), "a ndarray is no table"),
        (frame.head(0), "has no rows"),
        (pd.DataFrame(index=range(3)), "has no columns"),
        (pd.concat([frame, frame["age"]], axis=1), "more than one column named 'age'"),
    ):
        with pytest.raises(DataError, match=message):
            open_table(table)
    for options in ({"decimal": ";"}, {"thousands": "_"}, {"decimal": ",", "thousands": ","}, {"header": 1.5}):
        with pytest.raises(ConfigurationError, match="needed is"):
            read_sample(frame, sensitive="sex", **options)
    frame.to_csv(tmp_path / "t.csv")
    monkeypatch.setattr("evenspan.core.inputs.free_memory", lambda: 2**20)
    monkeypatch.setattr("evenspan.auditing.read.TEXT_BYTES", 2**18)
    with pytest.raises(LimitError, match=r"would need .*GroupMoments\.from_batches"):
        open_table(tmp_path / "t.csv")


def test_totals_below_the_rows_are_asked_about_and_empty_rows_left_out(tmp_path):
    rows = "sex,age,pay\nf,30,1.5\nm,40,2.5\nf,50,3.5\n"
    for last in ("Total,120,7.5\n", "f,120,7.5\n", "Mean,40,2.5\n", "Total,120,7.5\n,,\n"):
        (tmp_path / "t.csv").write_text(rows + last)
        with pytest.raises(DataError, match="the last row looks like the totals or means"):
            open_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text(rows + "f,120,3.5\n,,\n,,\n")  # the control: one sum is chance
    table = open_table(tmp_path / "t.csv")
    assert table.frame["age"].tolist() == [30, 40, 50, 120]
    assert "empty rows at the end" in table.notes[-1]


@pytest.mark.parametrize("ending", ["csv.gz", "xlsx"])
def test_memory_is_asked_for_as_a_file_is_unpacked(tmp_path, monkeypatch, ending):
    """A small file may hold a large table: what it holds is counted before it is all read."""
    path = tmp_path / f"t.{ending}"
    rows = "a,b\n" + "1,2\n" * 2_000_000
    if ending == "xlsx":
        openpyxl.Workbook().save(path)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as book:
            book.writestr("xl/comments1.xml", " " * 2**24)
    else:
        path.write_bytes(gzip.compress(rows.encode()))
    monkeypatch.setattr("evenspan.core.inputs.free_memory", lambda: 2**22)
    monkeypatch.setattr("evenspan.auditing.read.TEXT_BYTES", 10)
    with pytest.raises(LimitError, match=r"t\.\S+ \([0-9,]+ bytes.* would need .*GroupMoments\.from_batches"):
        read_sample(path, sensitive="a")


def test_a_table_for_which_a_process_gets_no_memory_is_not_called_damaged(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    monkeypatch.setattr("evenspan.auditing.read._layout", lambda *given: bytearray(2**62))
    with pytest.raises(LimitError, match=r"^t\.csv needs more memory than this process can get"):
        open_table(tmp_path / "t.csv")
