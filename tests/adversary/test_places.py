"""Where a report goes: a named error and the place as it was, or the whole new report; never a foreign file gone."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import strategies as st

from evenspan.auditing import places
from evenspan.auditing.places import NOTEBOOK, SETTINGS, placed, scratch
from evenspan.core.errors import ConfigurationError, FairError

from ..auditing.tables import plain

OWN = ("report.html", "tables/methods.csv", "figures/one.svg", "transformers/team.npz")


def fill(folder: Path, text: str) -> None:
    """What an audit would write."""
    for name in OWN:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / SETTINGS).write_text(json.dumps({"text": text, "files": [*OWN, SETTINGS]}))


def content(top: Path) -> dict:
    """Everything below a folder, links as what they say."""
    found = {}
    for place, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink():
                found[str(path.relative_to(top))] = os.readlink(path)
            else:
                found[str(path.relative_to(top))] = path.read_bytes() if path.is_file() else None
    return found


# -- states of a place, each made below a folder of its own; the name of the place is given back ----------------------


def nothing(top):
    return top / "report"


def deep(top):
    return top / "a" / "b" / "report"


def empty(top):
    (top / "report").mkdir()
    return top / "report"


def earlier(top):
    fill(empty(top), "old")
    return top / "report"


def with_notebook(top):
    earlier(top)
    (top / "report" / NOTEBOOK).write_text("my notebook")
    (top / "report" / ".ipynb_checkpoints").mkdir()
    (top / "report" / ".ipynb_checkpoints" / "audit-checkpoint.ipynb").write_text("my checkpoint")
    return top / "report"


def foreign(top):
    (earlier(top) / "tables" / "mine.csv").write_text("mine")
    return top / "report"


def foreign_folder(top):
    (earlier(top) / "mine").mkdir()
    return top / "report"


def hidden(top):
    (earlier(top) / ".git" / "objects").mkdir(parents=True)
    (top / "report" / ".git" / "HEAD").write_text("ref: refs/heads/main")
    return top / "report"


def hidden_only(top):
    (empty(top) / ".env").write_text("SECRET=1")
    return top / "report"


def forged(top):
    """A list that names files which no audit writes, also outside."""
    (top / "thesis.txt").write_text("mine")
    (earlier(top) / "thesis.txt").write_text("mine too")
    listed = ["../thesis.txt", str(top / "thesis.txt"), "thesis.txt", "tables/../../thesis.txt", *OWN, SETTINGS, 7]
    (top / "report" / SETTINGS).write_text(json.dumps({"files": listed}))
    return top / "report"


def other_settings(top):
    (empty(top) / SETTINGS).write_text('{"editor.fontSize": 12}')
    return top / "report"


def link(top):
    (top / "target").mkdir()
    (top / "report").symlink_to("target")
    return top / "report"


def link_to_earlier(top):
    earlier(top).rename(top / "target")
    (top / "report").symlink_to("target")
    return top / "report"


def dangling(top):
    (top / "report").symlink_to("not there")
    return top / "report"


def loop(top):
    (top / "report").symlink_to("other")
    (top / "other").symlink_to("report")
    return top / "report"


def linked_out(top):
    """A folder of the earlier audit that is now a link to one's own files."""
    folder = earlier(top)
    (folder / "tables").rename(top / "mine")
    (folder / "tables").symlink_to("../mine")
    return folder


def a_file(top):
    (top / "report").write_text("mine")
    return top / "report"


def below_a_file(top):
    (top / "mine").write_text("mine")
    return top / "mine" / "report"


def unwritable(_):
    return Path("/proc/report")


def below_a_device(_):
    return Path("/dev/null/report")


def too_long(top):
    return top / ("n" * 300)


def as_long_as_can_be(top):
    return top / ("n" * 255)


def not_text(top):
    return top / "rep\udcffort \x1b[31m"


def with_nul(top):
    return top / "rep\0ort"


def half_a_character(top):
    return top / "rep\ud800ort"


#: How each place ends: new (a report where none was), replaced (only if that is allowed), or refused.
ENDS = {
    **dict.fromkeys([nothing, deep, empty, link, dangling, as_long_as_can_be, not_text], "new"),
    **dict.fromkeys([earlier, with_notebook, link_to_earlier], "replaced"),
    **dict.fromkeys([
        foreign, foreign_folder, hidden, hidden_only, forged, other_settings, loop, linked_out, a_file, below_a_file,
        unwritable, below_a_device, too_long, with_nul, half_a_character,
    ], "refused"),
}  # fmt: skip


# -- what happens while the audit runs ---------------------------------------------------------------------------------


def goes_well(_):
    pass


def fails(_):
    raise ConfigurationError("a column was seen that nobody needs; needed is another one. Name it.")


def disk_full(folder):
    raise OSError(28, "No space left on device", str(folder / "tables"))


def a_file_is_added(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "letter.txt").write_text("mine")


def a_hidden_one_is_added(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".note").write_text("mine")


def an_audit_is_written(folder):
    if folder.exists():
        (folder / "report.html").write_text("of another audit")
    else:
        folder.mkdir(parents=True)
        fill(folder, "of another audit")


def it_goes(folder):
    if folder.is_dir() and not folder.is_symlink():
        folder.rename(folder.with_name("away"))


MEANWHILE = (goes_well, fails, disk_full, a_file_is_added, a_hidden_one_is_added, an_audit_is_written, it_goes)
#: Those after which the place may be written all the same.
HARMLESS = (goes_well, it_goes)


def test_a_place_is_as_it_was_or_holds_the_whole_report(attack, tmp_path):
    numbers = iter(range(10**9))

    def body(case):
        state, event, replace, inside = case
        top = tmp_path / str(next(numbers))
        top.mkdir()
        place = state(top)
        if ENDS[state] == "refused":
            event = goes_well
        before, home, said = content(top), os.getcwd(), None
        try:
            if inside and os.path.isdir(place):
                os.chdir(place)
            with placed(place, replace=replace) as stage:
                fill(stage, "new")
                event(place)
                before = {name: what for name, what in content(top).items() if ".evenspan" not in name}
        except FairError as error:
            said = error
        finally:
            os.chdir(home)
        now = content(top)
        may = ENDS[state] == "new" or (ENDS[state] == "replaced" and replace)
        if said is not None:
            made = {"a", "a/b"} - now.keys() if state is deep else set()  # on the way to it, gone with the stage
            assert now == {name: what for name, what in before.items() if name not in made}
            assert not may or event is not goes_well
            raise said
        assert may
        assert event in HARMLESS
        assert {(place / name).read_text() for name in OWN} == {"new"}
        assert json.loads((place / SETTINGS).read_text())["text"] == "new"
        assert not [name for name in now if ".evenspan" in name]
        for name, what in before.items():  # what is not the audit's own is what it was
            assert name.endswith((*OWN, SETTINGS)) or now[name] == what, name

    # A place that is refused at once, and an event that spoils any other, tell little more than once.
    some = [state for state in ENDS if ENDS[state] != "refused"]
    states = st.one_of(st.sampled_from(some), st.sampled_from(some), st.sampled_from(list(ENDS)))
    events = st.one_of(st.just(goes_well), st.sampled_from(MEANWHILE))
    cases = st.tuples(states, events, st.sampled_from([True, True, False]), st.booleans())
    attack("places of a report", "place", cases, body)


def test_what_comes_between_the_last_look_and_the_step_stays(tmp_path, monkeypatch):
    """Also inside the folder in which this process works, where each thing has a step of its own."""
    rename = places._rename

    def late(stage, folder, *, exchange):
        (tmp_path / "report" / "tables" / "late.csv").touch()
        rename(stage, folder, exchange=exchange)

    for inside in (False, True):
        place = earlier(tmp_path) if not (tmp_path / "report").exists() else tmp_path / "report"
        monkeypatch.chdir(place if inside else tmp_path)
        monkeypatch.setattr(places, "_rename", late)
        changed = pytest.raises(ConfigurationError, match=r"has changed while the audit ran \(tables/late\.csv")
        with changed, placed(place, replace=True) as stage:
            fill(stage, "new")
        monkeypatch.setattr(places, "_rename", rename)
        assert (place / "tables" / "late.csv").exists()
        assert (place / "report.html").read_text() == "old"
        assert os.listdir(tmp_path) == ["report"]
        (place / "tables" / "late.csv").unlink()


def test_an_empty_folder_that_comes_in_the_last_moment_stays(tmp_path, monkeypatch):
    rename = places._rename

    def late(stage, folder, *, exchange):
        folder.mkdir()
        rename(stage, folder, exchange=exchange)

    monkeypatch.setattr(places, "_rename", late)
    with pytest.raises(ConfigurationError, match="File exists"), placed(tmp_path / "report", replace=True) as stage:
        fill(stage, "new")
    assert content(tmp_path) == {"report": None}


@pytest.mark.parametrize("there", [False, True], ids=["a new name", "an earlier audit"])
def test_of_many_audits_of_one_folder_one_is_there_and_the_others_say_so(tmp_path, there):
    place = earlier(tmp_path) if there else tmp_path / "report"
    ready, outcome = threading.Barrier(6), {}

    def audit(number):
        try:
            with placed(place, replace=True) as stage:
                fill(stage, str(number))
                ready.wait(20)
        except ConfigurationError as error:
            outcome[number] = str(error)
        else:
            outcome[number] = "written"

    threads = [threading.Thread(target=audit, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = (number for number, said in outcome.items() if said == "written")
    assert {(place / name).read_text() for name in OWN} == {str(winner)}
    assert all("has changed while the audit ran" in said for n, said in outcome.items() if n != winner)
    assert os.listdir(tmp_path) == ["report"]


def test_where_a_system_has_no_such_step_the_place_is_exchanged_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(places.sys, "platform", "another")
    place = with_notebook(tmp_path)
    with placed(place, replace=True) as stage:
        fill(stage, "new")
    assert (place / "report.html").read_text() == "new"
    assert (place / NOTEBOOK).read_text() == "my notebook"
    with placed(tmp_path / "other", replace=False) as stage:
        fill(stage, "new")
    assert sorted(os.listdir(tmp_path)) == ["other", "report"]


def test_a_disk_without_room_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "LEAST_FREE", 2**60)
    with pytest.raises(FairError, match="MiB free; needed"), placed(tmp_path / "a" / "report", replace=False):
        pytest.fail("the work began")
    assert not os.listdir(tmp_path)


def test_only_what_nobody_works_in_is_swept(tmp_path):
    for name in (".evenspan-0123456789abcdef", ".evenspan-mine", ".audit-x"):
        (tmp_path / name).mkdir()
    (tmp_path / ".evenspan-00000000000000ff").write_text("a file")
    (tmp_path / ".evenspan-00000000000000fe").symlink_to(tmp_path / ".audit-x")
    with scratch(tmp_path) as one, scratch(tmp_path) as two:
        assert one.is_dir()
        assert two.is_dir()
    kept = {".evenspan-mine", ".audit-x", ".evenspan-00000000000000ff", ".evenspan-00000000000000fe"}
    assert set(os.listdir(tmp_path)) == kept


def _stopped_at(line: int, place: Path, stop) -> None:
    """Replace what is in the place, with ``stop()`` before the line of that number of all that are run."""
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if frame.f_code.co_filename == places.__file__ and event == "line":
            seen += 1
            if seen == line:
                stop()
        return trace

    sys.settrace(trace)
    try:
        with placed(place, replace=True) as stage:
            fill(stage, "new")
    finally:
        sys.settrace(None)


def _interrupt():
    sys.settrace(None)
    raise KeyboardInterrupt


def _kill():
    os._exit(9)


def _ended(line: int, place: Path, stop) -> bool:
    """The same in a process of its own, which ends then."""
    child = os.fork()
    if not child:
        try:
            _stopped_at(line, place, stop)
        except KeyboardInterrupt:
            os._exit(9)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("stop", [_interrupt, _kill])
@pytest.mark.parametrize("state", [nothing, with_notebook, link_to_earlier])
def test_whatever_ends_it_at_any_line_leaves_the_old_or_the_new_report(tmp_path, state, stop, request):
    step = 1 if request.config.getoption("exhaustive") else 17
    for line in itertools.count(1, step):
        top = tmp_path / str(line)
        top.mkdir()
        place = state(top)
        before = content(top)
        if not _ended(line, place, stop):
            break
        with scratch(top):  # what a killed one left goes
            pass
        now = content(top)
        new = {name: what for name, what in now.items() if name not in before or before[name] != what}
        assert now == before or {(place / name).read_text() for name in OWN} == {"new"}, (line, new)
        assert now == before or json.loads((place / SETTINGS).read_text())["text"] == "new"
        assert all(now[name] == what for name, what in before.items() if name.endswith(".ipynb"))
        assert {name.split("/")[0] for name in now} <= {"report", "target"}
    assert line > 80


# -- real processes ----------------------------------------------------------------------------------------------------

QUICK = ["--sensitive", "team", "-k", "2", "--methods", "Fair PCA", "--bootstrap", "20"]


def _start(cwd: Path, *words, **more):
    (cwd / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(cwd / "tmp"), "EVENSPAN_MARK": str(cwd)}
    return subprocess.Popen(
        [sys.executable, "-m", "evenspan", "audit", "t.csv", *QUICK, *words], cwd=cwd, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more,
    )  # fmt: skip


def _left(cwd: Path) -> list[int]:
    """Processes that were started for this folder and are still there."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"EVENSPAN_MARK={cwd}\0".encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def _deaf_to_nothing():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts what it runs in the background deaf to it


def _whole(place: Path) -> bool:
    names = json.loads((place / SETTINGS).read_text())["files"]
    return all((place / name).stat().st_size for name in (*names, NOTEBOOK))


CUT_OFF = """
import asyncio, logging, os, signal
from evenspan.core.ending import guarded

async def cell():
    logging.getLogger("papermill").error("A cell waits.")
    await asyncio.sleep(0.1)
    logging.getLogger("papermill").error("Kernel died while waiting for execute reply.")
    raise RuntimeError("Kernel died")

def work():
    loop = asyncio.new_event_loop()
    loop.create_task(cell())
    try:
        loop.call_soon(os.kill, os.getpid(), signal.SIGINT)
        loop.run_forever()
    finally:  # a kernel is shut down, and the cell that waits for it notices
        loop.run_until_complete(asyncio.sleep(0.2))

guarded(work, "Nothing was written.")
"""


def test_libraries_report_until_a_signal_and_not_what_it_cut_off():
    done = subprocess.run([sys.executable, "-c", CUT_OFF], capture_output=True, text=True, preexec_fn=_deaf_to_nothing)
    assert (done.returncode, done.stderr) == (130, "A cell waits.\nInterrupted. Nothing was written.\n")


@pytest.mark.slow
def test_a_signal_at_any_moment_leaves_the_old_or_the_new_report_and_nothing_else(tmp_path, request):
    many = request.config.getoption("exhaustive")
    draw = random.Random(0)
    plain(300).to_csv(tmp_path / "t.csv", index=False)
    place = earlier(tmp_path)
    old = content(place)
    lasts = 20.0
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
    for trial in range(40 if many else 5):
        number = signals[trial % 4]
        process = _start(tmp_path, "-o", "report", "--overwrite", preexec_fn=_deaf_to_nothing)
        began = time.monotonic()
        # The first moments that can be listened to are those after the start of the interpreter.
        time.sleep(draw.uniform(0.3, lasts) if trial else 0.3)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
        if process.returncode == 0:  # it was done before
            lasts = min(lasts, time.monotonic() - began)
        elif number == signal.SIGKILL:
            assert process.returncode == -number
        else:
            assert process.returncode == 128 + number, said
            assert said.splitlines()[-1].endswith((" written.", "written to report.")), said
        assert "Traceback" not in said
        assert content(place) == old or _whole(place), (trial, number)
        old = content(place)
        until = time.monotonic() + 10
        while left := _left(tmp_path):
            assert time.monotonic() < until, left
            time.sleep(0.05)
        if number != signal.SIGKILL:
            assert sorted(os.listdir(tmp_path)) == ["report", "t.csv", "tmp"]
            assert not os.listdir(tmp_path / "tmp")
        else:
            for where in (tmp_path, tmp_path / "tmp"):
                with scratch(where):
                    assert len([name for name in os.listdir(where) if name.startswith(".")]) == 1


@pytest.mark.slow
def test_real_audits_of_one_folder_and_places_that_have_no_name(tmp_path):
    """Two at once, into a folder whose name is no text; a sheet; a column that a terminal would obey."""
    nasty = plain(300).rename(columns={"team": "\x1b[31mteam"})
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        plain(30).to_excel(book, sheet_name="first", index=False)
        nasty.rename(columns={"\x1b[31mteam": "team"}).to_excel(book, sheet_name="two words", index=False)
    nasty.to_csv(tmp_path / "t.csv", index=False)
    name = os.fsdecode(b"rep\xff")
    words = [sys.executable, "-m", "evenspan", "audit"]
    quick = ["-k", "2", "-m", "Fair PCA", "--bootstrap", "20", "-o", name]
    running = [
        subprocess.Popen([*words, *more, *quick], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for more in (["t.csv", "-s", "\x1b[31mteam"], ["t.xlsx::two words", "-s", "team"])
    ]
    said = [process.communicate(timeout=300) for process in running]
    codes = [process.returncode for process in running]
    assert sorted(codes) == [0, 2], said
    (written,), (refused,) = ([both for both, code in zip(said, codes, strict=True) if code == c] for c in (0, 2))
    assert rb"rep\udcff has changed while the audit ran" in refused[1]
    assert rb"rep\udcff/report.html" in written[0]
    assert not any(b"\x1b" in text or b"Traceback" in text for both in said for text in both)
    assert _whole(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == sorted([name, "t.csv", "t.xlsx"])
