"""``make robustness``: what happens on full disks, after kills, with damaged files and with ten million rows.

Runs the tests of the table below and measures a stream of files; both are stored in ``data/results/robustness.json``,
which the page *Robustness* of the reference shows. Takes up to ten minutes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from streams_of_files import measured

from compendium import paths, provenance, records

#: What is tried, and the test that tries it.
TRIED = {
    "A stream of files with a slow consumer: the memory for 5, 10 and 20 files, and for one file of many row groups":
        "tests/core/test_stream_files.py::test_a_slow_consumer_holds_no_more_of_many_files_nor_of_many_groups_of_rows",
    "Files of different columns or types in a stream":
        "tests/core/test_stream_files.py::test_files_that_differ_are_named_before_a_row_is_read",
    "Missing, infinite and unseen values in one file of a stream":
        "tests/core/test_stream_files.py::test_what_is_wrong_in_a_row_is_told_with_file_and_batch",
    "A Parquet page that is not that of its checksum":
        "tests/core/test_stream_files.py::test_a_page_that_is_not_that_of_its_checksum_is_refused",
    "A kill at each point of a write of results":
        "tests/experiments/test_damage.py::"
        "test_a_run_that_is_killed_at_any_point_of_a_write_loses_no_unit_but_its_own",
    "Truncated, turned, empty and foreign files of the checkout":
        "tests/experiments/test_damage.py::test_damage_is_one_sentence_that_names_the_file",
    "A full disk while an estimator or moments are saved":
        "tests/core/test_saving.py::test_on_a_full_disk_the_earlier_file_stays_and_is_named",
    "A saved file that would unpack to more than it has":
        "tests/core/test_saving.py::test_a_file_that_would_unpack_to_more_than_it_has_is_not_unpacked",
    "A turned bit in a file of moments":
        "tests/core/test_moments.py::test_a_moments_file_in_which_a_bit_is_turned_is_refused_or_the_same",
    "A stream that goes on from a saved estimator":
        "tests/core/test_saving.py::test_blocks_go_on_from_the_file_as_if_nothing_had_happened",
    "A packed table that unpacks to much more":
        "tests/auditing/test_read.py::test_memory_is_asked_for_as_a_file_is_unpacked",
    "An uploaded table, read by a process with limits":
        "tests/live/test_live_tables.py::test_a_table_is_read_by_a_process_with_limits_of_memory_and_time",
    "Names that no file can have, and folders that a killed server left":
        "tests/live/test_live_tables.py::test_a_bad_name_is_a_400_and_what_a_killed_server_left_goes_at_the_next_start",
    "A changed title, label, term and order of the book: the same pages as built from nothing":
        "tests/book/test_again.py::test_a_change_gives_the_same_pages_as_a_build_from_nothing",
    "An interrupted run goes on and gives the same rows":
        "tests/experiments/test_cli.py::test_an_ended_run_goes_on_and_gives_the_same_rows",
}  # fmt: skip


def tried() -> list[dict]:
    """A row for each test: what is tried, how many cases passed, failed or were skipped, in how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *TRIED.values()]
        subprocess.run(command, check=False)
        cases = [
            (
                case.get("classname"),
                case.get("name").partition("[")[0],
                float(case.get("time")),
                {one.tag for one in case},
            )
            for case in ElementTree.parse(report).iter("testcase")
        ]
    rows = []
    for what, test in TRIED.items():
        file, _, name = test.partition("::")
        own = [case for case in cases if case[1] == name and case[0].endswith(Path(file).stem)]
        failed = sum(bool(tags & {"failure", "error"}) for *_, tags in own)
        skipped = sum("skipped" in tags for *_, tags in own)
        counts = {"cases": len(own), "passed": len(own) - failed - skipped, "failed": failed, "skipped": skipped}
        rows.append({"what": what, "test": test, **counts, "seconds": round(sum(time for _, _, time, _ in own), 1)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    stored = {
        "finished": f"{datetime.now(UTC):%Y-%m-%d}", "commit": provenance.commit()[0],
        "tests": tried(), "stream": measured(given.rows),
    }  # fmt: skip
    records.write(paths.data("results", "robustness.json"), (json.dumps(stored, indent=1) + "\n").encode())
    sys.exit(any(row["failed"] or not row["passed"] for row in stored["tests"]))


if __name__ == "__main__":
    main()
