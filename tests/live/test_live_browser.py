"""Pages that run here, as a reader meets them in Chromium."""

import base64
import io
import re
import time
from urllib.parse import urlsplit

import nbformat
import pandas as pd
import pytest

from compendium import paths
from compendium.book import pages as book
from compendium.ledger.claims import claims
from compendium.live import pages

from ..book.axe import by_night, look_at
from ..chromium import served
from ..conftest import TURN
from .conftest import begin, done, serving, write

pytestmark = pytest.mark.browser

#: Experiments of three papers, an execution, and another value of a parameter.
CHANGED = {
    "rathore2025-tables": ("npha", {"max_k": 2}),
    "kleindessner2023-illustration": ("", {"draws": 5, "fraction": 0.4}),
    "zhou2024-tradeoff": ("jaffe", {"dataset": "made", "seeds": 2, "weights": "0, 1, 10"}),
}
CHOSEN = [*CHANGED][TURN % len(CHANGED)]
#: A chapter, and of its page what is published: all but the bar, and what the keys reach at the present sizes.
CHAPTER = "papers/kleindessner2023/derivation.html"
PUBLISHED = """() => { const all = document.querySelector('article').cloneNode(true);
    all.querySelectorAll('.live-bar').forEach(bar => bar.remove());
    all.querySelectorAll('*').forEach(one => ['tabindex', 'data-reached'].forEach(name => one.removeAttribute(name)));
    return all.innerHTML; }"""


def tables(cells) -> list[list[str]]:
    """The texts of all cells of each table in the outputs of a notebook."""
    shown = (output.get("data", {}).get("text/html", "") for cell in cells for output in cell.get("outputs", ()))
    found = (re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", html, re.DOTALL) for html in shown if "<table" in html)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in table] for table in found]


def first(page) -> int:
    """The number of the first cell that can be written."""
    return int(re.search(r"\d+", page.locator(".live-cell .cm-content").first.get_attribute("aria-label"))[0])


@pytest.mark.parametrize(
    "experiment", [pytest.param(one, marks=[] if one == CHOSEN else pytest.mark.exhaustive) for one in CHANGED]
)
def test_a_changed_parameter_gives_what_papermill_gives(visit, tmp_path, experiment):
    execution, values = CHANGED[experiment]
    page = visit(f"experiments/{experiment}.html" + (f"#{execution}" if execution else ""))
    published = page.evaluate(PUBLISHED)
    begin(page)
    for name, value in values.items():
        page.get_by_label(name, exact=True).fill(str(value))
    page.get_by_role("button", name="Run with these").click()
    done(page)
    page.locator(".live-note", has_text="the setting is another one").wait_for()
    with page.expect_download() as saved:  # the notebook as the reader gets it
        page.get_by_role("button", name="Download", exact=True).click()
    saved.value.save_as(tmp_path / "mine.ipynb")
    source = paths.root() / f"notebooks/{experiment.replace('-', '/', 1)}.ipynb"
    book.execute(source, tmp_path / "out.ipynb", ({"dataset": execution} if execution else {}) | values)
    mine, theirs = (tables(nbformat.read(tmp_path / name, 4).cells) for name in ("mine.ipynb", "out.ipynb"))
    assert mine == theirs
    assert any(len(one) > 4 for one in mine)
    assert page.locator(".live-own table td").count()
    page.get_by_role("button", name="Reset").click()
    page.get_by_text("This is the published page again.").wait_for()
    assert page.evaluate(PUBLISHED) == published, "the page differs from what was published"


def test_a_run_says_how_far_it_is_from_what_is_stored(visit):
    page = begin(visit("experiments/rathore2025-tables.html#lsac_bw"))
    page.get_by_role("button", name="Run page").click()
    page.locator(".live-note", has_text="Computed now").wait_for(timeout=120_000)
    done(page)
    assert "DIFFER" not in page.locator(".live-note").inner_text()
    before = page.locator(".tab .live-own table", has_text="Squared distance").first.inner_text()
    # What the findings say: the sensitive column is among the features, and without it the distance is another.
    code = pages.page("experiments/rathore2025-tables", "lsac_bw")["notebook"].cells[3].source
    write(page, 3, code.replace("ranks =", "moments = rathore2025.without_sex(dataset, moments)\nranks ="))
    done(page)
    page.get_by_role("button", name="Run page").click()
    page.locator(".live-note", has_text="a cell was edited").wait_for(timeout=120_000)
    done(page)
    assert page.locator(".tab .live-own table", has_text="Squared distance").first.inner_text() != before


def test_another_method_in_the_place_of_one_shows_the_readers_numbers_alone(visit):
    name, given = "experiments/vu2022-components", '"RFPCA": (methods.published_descent, (alpha, penalty))'
    page, stored = visit(f"{name}.html#ecoli"), claims(["V27"])["evidence"].item()
    published, own = page.locator(".tab .cell_output:visible"), page.locator(".tab .live-own:visible")
    assert stored in " ".join(published.all_inner_texts())
    assert published.locator("a[href*='results/full']").count()
    assert page.locator(".tab .takeaway:visible").count()
    begin(page)
    code = pages.page(name, "ecoli")["notebook"].cells[5].source
    assert given in code
    write(page, 5, code.replace(given, '"RFPCA": (methods.standard, ())'))
    done(page)
    page.get_by_role("button", name="Run page").click()
    done(page)
    note, shown = page.locator(".live-note").inner_text(), " ".join(own.all_inner_texts())
    assert "This run is your own: a cell was edited: METHODS = {" in note
    assert "Nothing that is published was used." in note
    assert "not judged in this run" in shown
    assert stored not in shown
    assert published.count() == own.locator("a[href*='_static']").count() == 0
    assert page.locator(".tab .takeaway:visible").count() == 0
    (link,) = own.get_by_text("all rows of this run").all()
    rows = pd.read_csv(io.BytesIO(base64.b64decode(link.get_attribute("href").partition("base64,")[2])))
    wide = rows.pivot(index=["k", "split", "protocol", "metric"], columns="method", values="value")
    assert set(rows["source"]) == {"computed"}
    pd.testing.assert_series_equal(wide["RFPCA"], wide["PCA"], check_names=False)


def test_a_cell_that_decides_can_be_made_to_fail(visit):
    page = begin(visit(CHAPTER))
    cells = pages.page(CHAPTER.removesuffix(".html"))["notebook"].cells
    number, code = next((n, cell.source) for n, cell in enumerate(cells) if 'assert gap["kept"]' in cell.source)
    assert code.count("FairPCA") == 2
    write(page, number, code.replace("FairPCA", "StandardPCA"))
    done(page, word=f"Cell {number} failed: AssertionError")
    error = page.locator(".live-error")
    assert error.is_visible()
    error.get_by_text("Where it happened").click()
    assert 'assert gap["kept"] < 1e-12' in error.inner_text()


def test_stop_a_kernel_that_is_killed_and_limits_of_a_cell(visit):
    page = begin(visit("experiments/kleindessner2023-illustration.html"))
    write(page, first(page), "import time\nprint('begun', flush=True)\ntime.sleep(600)")
    page.get_by_text("begun", exact=True).wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    done(page, word="failed: KeyboardInterrupt")
    for code, said in (
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "The kernel ended"),
        ("print(6 * 7)", "Done in"),
        ("import numpy\nnumpy.empty(7 * 2**27)  # 7 GiB, of which none is touched", "failed: MemoryError"),
        (f"open({str(paths.root() / 'mine')!r}, 'w')", "failed: PermissionError"),
    ):
        write(page, first(page), code)
        done(page, word=said)
        assert code != "print(6 * 7)" or page.locator(".live-own").first.inner_text().split()[-1] == "42"
    assert not (paths.root() / "mine").exists()
    write(page, first(page), "time = __import__('time')\ntime.sleep(600)")
    page.locator(".live-said", has_text="Running").wait_for()
    page.get_by_role("button", name="Reset").click()
    page.locator(".live-said", has_text="This is the published page again.").wait_for()
    assert page.locator(".live-own").count() == 0


def test_an_experiment_at_the_end_of_a_chapter_runs_apart(visit):
    page = visit("papers/zhou2024/experiments.html#zhou2024-kernels-mnist_usps")
    part = page.locator("#zhou2024-kernels")
    part.get_by_role("button", name="Run here").click()
    part.get_by_text("Ready.").wait_for(timeout=120_000)
    dataset = part.get_by_label("dataset", exact=True)
    assert dataset.input_value() == "mnist_usps"
    dataset.fill("made")
    part.get_by_role("button", name="Run with these").click()
    part.locator(".live-note", has_text="the setting is another one").wait_for(timeout=120_000)
    assert part.locator(".tab .live-own").count()
    assert page.locator(".live-own").count() == part.locator(".live-own").count()
    assert page.get_by_role("button", name="Run here").first.is_visible(), "the chapter still waits"


def test_two_pages_at_once(visit):
    one = visit("experiments/kleindessner2023-illustration.html")
    other = visit("experiments/rathore2025-tables.html#npha", context=one.context)
    for page in (one, other):
        write(begin(page), first(page), f"import sys\nx = {id(page)}, sys.modules.keys() >= {set(book.LIBRARIES)}")
        done(page)
    for page in (one, other):
        write(page, first(page), "print(x)")
        page.locator(".live-own", has_text=f"({id(page)}, True)").wait_for()  # no first cell waits for its imports
    kernels = one.context.request
    address = f"{one.url.partition('book/')[0]}api/kernels"
    running = {kernel["id"] for kernel in kernels.get(address).json()}
    other.close(run_before_unload=True)
    deadline = time.monotonic() + 20
    while len(left := running & {kernel["id"] for kernel in kernels.get(address).json()}) == len(running):
        assert time.monotonic() < deadline, "who leaves a page leaves no kernel"
        time.sleep(0.1)
    assert len(left) == len(running) - 1


def test_keys_alone_on_a_telephone(visit):
    page = visit("experiments/kleindessner2023-illustration.html", width=390, height=844)
    button = page.get_by_role("button", name="Run here")
    button.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Ready.").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Run page"
    page.get_by_label("draws", exact=True).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    done(page)
    assert page.locator(".live-own").count() > 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    editor = page.get_by_label("Code of cell 1", exact=True)  # the parameters, whose code is not folded
    editor.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")  # not kept by the editor
    assert page.evaluate("document.activeElement.textContent") == "Run"


def test_a_page_that_runs_is_accessible_by_day_and_by_night(visit):
    page = begin(visit("experiments/kleindessner2023-illustration.html"))
    page.get_by_label("draws", exact=True).fill("none")
    page.get_by_role("button", name="Run with these").click()
    page.get_by_role("alert").get_by_text("parameter 'draws' is 'none'").wait_for()
    write(page, first(page), "1 / 0")
    done(page, word="failed: ZeroDivisionError")
    assert look_at(page) == []
    by_night(page)
    assert look_at(page, rules=["color-contrast"]) == []


def test_the_server_gone_in_between_and_no_server(browser, built, tmp_path):
    with serving(tmp_path) as (address, process):
        page = browser.new_page()
        page.goto(address)
        page.goto(address.partition("index.html")[0] + "experiments/kleindessner2023-illustration.html")
        begin(page)
        process.kill()
        page.get_by_text("The server does not answer").wait_for(timeout=60_000)
        page.close()
    page = browser.new_page()
    page.goto(f"{paths.build('html').as_uri()}/experiments/kleindessner2023-illustration.html")
    page.get_by_role("button", name="Run here").click()
    page.get_by_text("make live").wait_for()
    page.close()


def test_a_table_of_ones_own(visit, tmp_path):
    page = visit("yours/audit.html")
    hosts = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    table = tmp_path / "people <1>.csv"
    lines = [f"{i % 7 + (i % 2)},{i * i % 11},{'fm'[i % 2]}" for i in range(200)]
    table.write_text("\n".join(["age,income,sex", *lines]))
    page.get_by_role("button", name="Choose a table").click()
    page.get_by_label("Table", exact=True).set_input_files(table)
    page.get_by_label("sex", exact=True).check()
    page.get_by_label("Numbers of components").fill("1")
    page.get_by_role("button", name="Audit", exact=True).click()
    page.locator("iframe").wait_for(timeout=180_000)
    report = page.frame_locator("iframe")
    report.get_by_role("heading", level=1).wait_for()
    told = report.locator("body").inner_text()
    assert "people <1>.csv" in told
    assert "200 rows" in told
    assert hosts - {None} == {"127.0.0.1"}  # nothing leaves the machine; pictures in the text have no host


def test_another_origin_is_refused(visit, live, tmp_path):
    page = visit("experiments/kleindessner2023-illustration.html")
    base = live.partition("book/")[0]
    (tmp_path / "index.html").write_text("<title>elsewhere</title>")  # a site at another port of this machine
    with served(tmp_path) as elsewhere:
        other = page.context.new_page()  # with the cookies of the reader
        other.goto(elsewhere)
    ask = """async ([address, given]) => { try { const found = await fetch(address, {credentials: 'include', ...given});
        return await found.text(); } catch (error) { return 'refused'; } }"""
    assert other.evaluate(ask, [f"{base}api/kernels", {}]) == "refused"
    assert other.evaluate(ask, [f"{base}api/kernels", {"method": "POST", "body": "{}"}]) == "refused"
    assert other.evaluate(ask, [f"{base}live/page?name=experiments/kleindessner2023-illustration", {}]) == "refused"
    socket = """address => new Promise(done => { const one = new WebSocket(address);
        one.onopen = () => done('open'); one.onerror = () => done('refused'); })"""
    begin(page)
    listed = "async address => (await (await fetch(address)).json()).map(one => one.id)"
    kernels = page.evaluate(listed, f"{base}api/kernels")
    address = f"{base}api/kernels/{kernels[0]}/channels".replace("http", "ws")
    assert page.evaluate(socket, address) == "open"  # the control
    assert other.evaluate(socket, address) == "refused"
    assert not page.evaluate("document.cookie.includes('username')")
    # Nor does a request that needs no answer begin anything, although it comes with every cookie of this host.
    blind = """async address => { const token = document.cookie.match(/_xsrf=([^;]*)/)[1];
        for (const asked of [address, `${address}?_xsrf=${encodeURIComponent(token)}`])
            await fetch(asked, {method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}'}); }"""
    other.evaluate(blind, f"{base}api/kernels")
    assert page.evaluate(listed, f"{base}api/kernels") == kernels
    page.evaluate(blind, f"{base}api/kernels")  # the control: of the page itself that with the token does
    assert len(page.evaluate(listed, f"{base}api/kernels")) == len(kernels) + 1
