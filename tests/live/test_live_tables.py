"""Tables that come in: read by a process with limits, kept where they belong, and gone with the server."""

import gzip
import io
import os
import signal
import urllib.error
import urllib.request
import zipfile

import openpyxl
import pytest

from compendium.live import tables
from evenspan.core.errors import FairError

from .conftest import serving

GIVEN = b"age,sex\n" + b"30,f\n41,m\n" * 9


@pytest.fixture
def audits(tmp_path):
    """Audits in a folder of their own."""
    return tables.Audits(tmp_path)


def refused(audits, name: str, content: bytes) -> str:
    """Why a table is not taken; nothing of it stays."""
    with pytest.raises(FairError) as error:
        audits.take(name, content)
    assert [*audits.tables.iterdir()] == []
    return str(error.value)


def large_workbook() -> bytes:
    """A small file with a sheet of more than a million rows, which takes a minute to read."""
    file, row = io.BytesIO(), b"<row><c><v>1</v></c><c><v>2</v></c><c><v>3</v></c></row>" * 10_000
    openpyxl.Workbook().save(file)
    with zipfile.ZipFile(file) as given, zipfile.ZipFile(whole := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as made:
        for one in given.infolist():
            content = given.read(one)
            if one.filename.endswith("sheet1.xml"):
                content = content.replace(b"</sheetData>", row * 150 + b"</sheetData>")
            made.writestr(one, content)
    return whole.getvalue()


def test_a_table_is_read_by_a_process_with_limits_of_memory_and_time(audits, monkeypatch):
    monkeypatch.setattr("evenspan.auditing.read.open_table", None)  # nothing is read here
    taken = audits.take("people.csv", GIVEN)
    assert taken["columns"] == ["age", "sex"]
    assert (audits.tables / taken["key"] / "people.csv").read_bytes() == GIVEN
    (audits.tables / taken["key"] / "people.csv").unlink()
    (audits.tables / taken["key"]).rmdir()
    assert "every line is one cell" in refused(audits, "t.csv", b"a\n1\n2\n")
    monkeypatch.setattr(tables, "MEMORY", 2**29)
    assert "memory" in refused(audits, "t.csv.gz", gzip.compress(b"a,b,c\n" + b"1,2,f\n" * 2**24, 1))
    monkeypatch.setattr(tables, "MEMORY", 2**32)
    monkeypatch.setattr(tables, "SECONDS", 2)
    assert "in 2 s" in refused(audits, "t.xlsx", large_workbook())


@pytest.mark.parametrize("name", ["a\0b.csv", f"{'n' * 300}.csv"])
def test_a_name_that_no_file_can_have_is_told(audits, name):
    assert "cannot be kept" in refused(audits, name, GIVEN)


def test_an_audit_takes_no_table_from_elsewhere_and_unknown_ones_are_told(audits, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "t.csv").write_bytes(GIVEN)
    for table in (f"{tmp_path}/private", "../private", "..", "", None, "a\0", 16 * "0"):
        with pytest.raises(FairError, match="Needed are a table"):
            audits.begin({"table": table, "sensitive": ["sex"]})
    with pytest.raises(FairError, match="There is no audit"):
        audits.state("0123")


def test_a_bad_name_is_a_400_and_what_a_killed_server_left_goes_at_the_next_start(tmp_path, monkeypatch):
    for name in ("tmp", "first", "second", "third", "build/html"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "build/html/index.html").touch()
    monkeypatch.setenv("EVENSPAN_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))

    def send(address: str, name: str) -> int:
        base, token = address.partition("book/")[0], address.partition("token=")[2]
        asked = urllib.request.Request(f"{base}live/tables/{name}?token={token}", GIVEN, method="PUT")
        try:
            with urllib.request.urlopen(asked) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    with serving(tmp_path / "first") as (address, process):
        assert [send(address, name) for name in ("t.csv", "a%00b.csv", "n" * 300)] == [200, 400, 400]
        with serving(tmp_path / "second"):
            assert len([*(tmp_path / "tmp").glob("*/tables/*/t.csv")]) == 1  # of one that lives
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (left,) = (tmp_path / "tmp").glob("*/tables/*/t.csv")
    with serving(tmp_path / "third"):
        assert not left.exists()
