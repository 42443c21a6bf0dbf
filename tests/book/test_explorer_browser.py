"""The explorer of the joint range as a reader meets it: pointer, keyboard, phone, address, and opened from disk."""

import csv
import json
import re

import numpy as np
import pytest

from compendium.book import explorer
from evenspan import DisparityFairPCA, MinMaxFairPCA, RobustFairPCA

from ..sight import contrast, hexadecimal

pytestmark = pytest.mark.browser

BYTES = 1_500_000
READY = "[data-explorer][data-state=ready]"
NUMBER = r"[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?"


@pytest.fixture
def opened(reader):
    """The explorer, drawn; ``query`` is what stands behind the question mark of its address."""

    def visit(query: str = ""):
        page = reader(f"explorer.html{query}")
        ready(page)
        return page

    return visit


def ready(page) -> None:
    page.wait_for_selector(READY, timeout=20_000)


def result(page) -> dict[str, str]:
    terms, texts = (page.locator(f".explorer-result {name}").all_inner_texts() for name in ("dt", "dd"))
    return dict(zip(terms, texts, strict=True))


def value(text: str) -> float:
    return float(re.search(NUMBER, text).group().replace("−", "-"))


#: Makes choices as their fields do, waits for what follows, and tells: the words for the drawing, the result, and
#: everything in the drawing and beside it in which a number is none.
CHOOSE = """async choices => {
    for (const [field, value] of Object.entries(choices)) {
        const e = document.getElementById(`explorer-${field}`);
        e.value = value;
        if (e.value !== value) throw new Error(`${field} has no ${value}`);
        e.dispatchEvent(new Event('input', {bubbles: true}));
    }
    const until = performance.now() + 20000;
    while (document.querySelector('[data-explorer]').dataset.state !== 'ready') {
        if (performance.now() > until) throw new Error('nothing was drawn');
        await new Promise(done => setTimeout(done));
    }
    const all = s => [...document.querySelectorAll(s)], texts = s => all(s).map(e => e.innerText);
    const [terms, values] = ['dt', 'dd'].map(name => texts(`.explorer-result ${name}`));
    const shown = [
        ...all('.explorer svg *').flatMap(e => [...e.attributes].map(a => a.value)),
        ...texts('.explorer'),
        ...all('.explorer-numbers').map(e => e.textContent),
    ];
    return {
        text: document.querySelector('.explorer-picture').getAttribute('aria-label'),
        result: Object.fromEntries(terms.map((term, i) => [term, values[i]])),
        wrong: shown.filter(one => /NaN|undefined|Infinity|null/.test(one)),
    };
}"""


def test_it_draws_and_says_so(opened, html):
    page = opened()
    assert page.locator(".explorer-picture").get_attribute("role") == "img"
    text = page.locator(".explorer-picture").get_attribute("aria-label")
    assert "Biodeg, k = 3" in text
    assert "Equal errors are impossible" in text
    assert page.locator(".explorer-summary").get_attribute("aria-live") == "polite"
    assert page.locator(".explorer-points .explorer-point:visible").count() > 5
    assert len((html / "explorer.html").read_bytes()) < BYTES
    assert page.trouble == []


def test_the_page_works_from_disk(tab, html):
    page = tab.context.new_page()
    trouble = []
    page.on("console", lambda m: trouble.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: trouble.append(str(e)))
    page.goto((html / "explorer.html").as_uri() + "?data=ecoli&k=2")
    ready(page)
    assert "k = 2" in page.locator(".explorer-summary").inner_text()
    page.select_option("#explorer-k", "4")
    page.wait_for_function("() => location.search.includes('k=4')")
    page.wait_for_function("() => document.querySelector('.explorer-summary').textContent.includes('k = 4')")
    assert trouble == []
    page.close()


def test_without_scripts_it_says_why_and_shows_a_figure(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}explorer.html")
    assert "needs scripts" in page.locator("[data-explorer]").inner_text()
    figure = page.locator("#fig-explorer-biodeg img")
    assert len(figure.get_attribute("alt")) > 80
    context.close()


def test_every_choice_draws(opened, request):
    page, exhaustive = opened(), request.config.getoption("exhaustive")
    sets = page.eval_on_selector_all("#explorer-data option", "all => all.map(one => one.value)")
    criteria = page.eval_on_selector_all("#explorer-criterion option", "all => all.map(one => one.value)")
    assert sets == list(explorer.names())
    seen = set()
    for place, name in enumerate(sets):
        page.select_option("#explorer-data", name)
        sizes = page.eval_on_selector_all("#explorer-k option", "all => all.map(one => one.value)")
        # Every size of one set, one of the others, by turns an end and the middle; every criterion at each of them.
        ends = [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
        for k in sizes if name == "ecoli" else ends if exhaustive else [ends[place % 3]]:
            for criterion in criteria if place % 4 == 0 else criteria[place % 3 :: 3]:
                found = page.evaluate(CHOOSE, {"k": k, "criterion": criterion})
                assert f"k = {k}." in found["text"]
                seen.add(found["text"])
                assert found["wrong"] == [], (name, k, criterion)
                told = found["result"]
                assert value(told["No projection below"]) <= value(told["Value reached"]) + 1e-9
    assert len(seen) > (100 if exhaustive else 40)
    assert page.trouble == []


def test_the_optimum_is_that_of_the_library(opened):
    moments = explorer.moments("statlog")
    expected = {
        "error": MinMaxFairPCA(4, objective="error", center="overall").fit_moments(moments).certificate_.primal,
        "loss": MinMaxFairPCA(4, objective="loss", center="overall").fit_moments(moments).certificate_.primal,
        "gap": DisparityFairPCA(4).fit_moments(moments).gap_,
        "robust": RobustFairPCA(4, alpha=1.5, penalty=0.75).fit_moments(moments).objective_,
        "penalty": RobustFairPCA(4, alpha=0.0, penalty=0.75).fit_moments(moments).objective_,
    }
    page = opened("?data=statlog&k=4&penalty=0.75&radius=1.5")
    for criterion, wanted in expected.items():
        told = page.evaluate(CHOOSE, {"criterion": criterion})["result"]
        np.testing.assert_allclose(value(told["Value reached"]), wanted, rtol=1e-6, atol=2e-9)
        np.testing.assert_allclose(value(told["No projection below"]), wanted, rtol=1e-6, atol=2e-9)


def test_sliders_move_the_optimum(opened):
    page = opened("?criterion=penalty&penalty=0")
    before = result(page)["Optimum"]
    page.focus("#explorer-penalty")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('penalty=0.6')")
    ready(page)
    assert page.locator("output[for=explorer-penalty]").inner_text() == "0.60"
    assert result(page)["Optimum"] != before
    assert page.locator("#explorer-radius").is_disabled()
    page.select_option("#explorer-criterion", "robust")
    ready(page)
    assert page.locator("#explorer-radius").is_enabled()
    assert "Radius of each group, α / √n" in result(page)
    assert page.trouble == []


def test_everything_can_be_reached_with_the_keyboard(opened):
    page = opened("?criterion=robust")
    page.focus("#explorer-data")
    reached, spoken = [], []
    for _ in range(60):
        now = page.evaluate(
            """() => { const e = document.activeElement; const style = getComputedStyle(e);
                const ring = e.querySelector && e.querySelector('.ring');
                const seen = style.outlineStyle !== 'none' || (ring && getComputedStyle(ring).stroke !== 'none');
                const name = e.id || e.className.baseVal || e.dataset.view || e.className || e.tagName;
                return [name, e.getAttribute('aria-label') || '', seen]; }"""
        )
        if now[0] == "SUMMARY":
            reached.append(now[0])
            break
        reached.append(now[0])
        assert now[0] != "explorer-points", "the layer takes the focus from its points"
        assert now[2], f"{now[0]} does not show that it has the focus"
        if "explorer-point" in now[0]:
            spoken.append(now[1])
            assert page.locator(".explorer-readout").inner_text() == now[1]
        page.keyboard.press("Tab")
    for wanted in ("criterion", "k", "penalty", "radius"):
        assert f"explorer-{wanted}" in reached
    assert {"frontier", "whole", "explorer-file", "SUMMARY"} <= set(reached)
    assert sum("PCA" in text for text in spoken) >= 3
    assert all(re.search(NUMBER, text) for text in spoken)
    page.keyboard.press("Enter")
    assert page.locator(".explorer-numbers").is_visible()
    assert page.trouble == []


def test_choosing_with_the_keyboard_and_the_view(opened):
    page = opened()
    page.focus("#explorer-criterion")
    page.keyboard.press("ArrowDown")
    ready(page)
    assert page.locator("#explorer-criterion").input_value() == "loss"
    page.focus("button[data-view=whole]")
    page.keyboard.press("Space")
    assert page.locator("button[data-view=whole]").get_attribute("aria-pressed") == "true"
    assert page.locator("button[data-view=frontier]").get_attribute("aria-pressed") == "false"
    assert "The whole set" in page.locator(".explorer-picture").get_attribute("aria-label")
    # In the whole set every method that has an answer can be seen; LEACE is no projection.
    points = page.locator(".explorer-point:visible").count()
    assert points >= page.locator(".explorer-numbers tbody tr:not(:has(.reason))").count() - 1
    assert page.trouble == []


def test_the_address_keeps_the_choice(opened):
    page = opened()
    page.select_option("#explorer-data", "letter")
    page.select_option("#explorer-k", "5")
    page.select_option("#explorer-criterion", "average")
    page.click("button[data-view=whole]")
    page.wait_for_function("() => location.search.includes('whole') && location.search.includes('letter')")
    ready(page)
    before = page.locator(".explorer-picture").get_attribute("aria-label")
    page.reload()
    ready(page)
    assert page.locator(".explorer-picture").get_attribute("aria-label") == before
    assert page.locator("#explorer-data").input_value() == "letter"


def test_a_choice_that_does_not_exist_is_named(opened):
    page = opened("?data=nowhere&k=2")
    said = page.locator(".explorer-summary").inner_text()
    assert "data = nowhere" in said
    assert "Biodeg, k = 2" in said
    page = opened("?data=energy&k=10")
    assert "at most" in page.locator(".explorer-summary").inner_text()
    assert page.trouble == []


def test_links_of_the_questions_lead_to_the_choice(opened):
    page = opened()
    links = page.locator("a[data-choice]")
    assert links.count() >= 4
    for place in range(links.count()):
        wanted = dict(pair.split("=") for pair in links.nth(place).get_attribute("href")[1:].split("&"))
        links.nth(place).click()
        ready(page)
        for key in ("data", "k", "criterion"):
            assert page.locator(f"#explorer-{key}").input_value() == wanted[key]
    page.go_back()
    ready(page)
    assert page.trouble == []


def test_the_file_holds_the_numbers_of_the_drawing(opened, tmp_path):
    page = opened("?data=wine_quality&criterion=average")
    with page.expect_download() as started:
        page.click(".explorer-file")
    assert started.value.suggested_filename == "joint-range-wine_quality-k3-average.csv"
    started.value.save_as(tmp_path / "points.csv")
    with (tmp_path / "points.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    points = {row["name"]: row for row in rows if row["kind"] == "method"}
    (best,) = [row for row in rows if row["kind"] == "optimum"]
    np.testing.assert_allclose(float(best["criterion"]), float(points["PCA"]["average"]), rtol=1e-9)
    stored = json.loads(page.evaluate("() => document.getElementById('explorer-moments').textContent"))
    (wine,) = [one for one in stored["sets"] if one["name"] == "wine_quality"]
    for name, *q in wine["points"]["3"]:
        assert [float(points[name][f"error_{g}"]) for g in (0, 1)] == q
    assert {"frontier", "boundary"} <= {row["kind"] for row in rows}


def test_the_optimum_moves_only_where_motion_is_wanted(opened):
    page = opened("?view=whole")
    page.select_option("#explorer-criterion", "loss")
    page.wait_for_function("() => document.querySelector('.explorer-summary').textContent.includes('losses')")
    seconds = "() => getComputedStyle(document.querySelector('.explorer-optimum')).transitionDuration"
    assert page.evaluate(seconds) == "0s"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(seconds) != "0s"


def test_contrast_of_what_is_drawn(opened):
    page = opened()
    for theme in ("light", "dark"):
        colours = colours_of(page, theme)
        for ground, least, found in colours:
            assert found
            for colour in found:
                assert contrast(hexadecimal(ground), hexadecimal(colour)) >= least, (theme, ground, colour)


def colours_of(page, theme: str) -> list:
    """Backgrounds, the contrast that is wanted on them, and the colours of what is there."""
    return page.evaluate(
        """theme => {
            document.documentElement.dataset.theme = theme;
            const of = (s, key) => [...document.querySelectorAll(s)].map(e => getComputedStyle(e)[key]);
            const paper = of('.explorer-plot', 'backgroundColor')[0], ground = of('body', 'backgroundColor')[0];
            const side = '.explorer-side p, .explorer-side dd, .explorer li a, .explorer li, .explorer summary';
            const controls = '.explorer-controls label, .explorer-controls output';
            const lines = '.frontier, .equal, .losses, .level, .bound, .target circle, .explorer-point > path';
            return [
                [paper, 3, of(lines.split(', ').map(s => `.explorer-plot ${s}`).join(', '), 'stroke')],
                [paper, 4.5, of('.explorer-plot text', 'fill')],
                [ground, 4.5, of(side, 'color')],
                [of('.explorer-controls', 'backgroundColor')[0], 4.5, of(controls, 'color')],
                ...[...document.querySelectorAll('.explorer-controls :is(button, select)')].map(e =>
                    [getComputedStyle(e).backgroundColor, 4.5, [getComputedStyle(e).color]]),
            ];
        }""",
        theme,
    )


def test_on_a_phone_nothing_is_cut_off(opened):
    page = opened("?data=wine_quality")
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    ready(page)
    assert page.evaluate("() => document.scrollingElement.scrollWidth - window.innerWidth") <= 1
    page.click(".explorer-table summary")
    assert page.evaluate("() => document.scrollingElement.scrollWidth - window.innerWidth") <= 1
    box = page.locator(".explorer-picture").bounding_box()
    assert box["width"] > 300
    texts = page.eval_on_selector_all(
        ".explorer-picture text",
        "all => all.map(e => e.getBoundingClientRect()).map(r => [r.left, r.right, r.top, r.bottom])",
    )
    for left, right, top, bottom in texts:
        assert left >= box["x"] - 1
        assert right <= box["x"] + box["width"] + 1
        assert top >= box["y"] - 1
        assert bottom <= box["y"] + box["height"] + 1
    assert page.trouble == []
