"""The explorer: its data against the library, and what its script shows for a choice against the estimators."""

import re
import shutil

import numpy as np
import pytest

from compendium import paths
from compendium.book import explorer
from evenspan import DisparityFairPCA, JointRange, MinMaxFairPCA, RobustFairPCA, StandardPCA

#: Sets with and without equal errors, dependent columns, groups of very different sizes.
CASES = [("biodeg", 3), ("wine_quality", 3), ("energy", 2), ("ecoli", 1), ("statlog", 4)]
QUICK = ("PCA", "Min-max error", "Min-max loss", "u-FPCA", "Fair PCA", "LEACE", "Null-it-out PCA")
NUMBER = r"[−-]?\d+(?:\.\d+)?"


@pytest.fixture(scope="module")
def known():
    """The data of the page for the cases, with the points of the quick methods."""
    marks = [mark for mark in explorer.marks() if mark["name"] in QUICK]
    return {"methods": marks, "sets": [explorer.data_set(name, QUICK) for name, _ in CASES]}


@pytest.fixture(scope="module")
def page(browser, known, tmp_path_factory):
    """The explorer alone on a page that is opened from disk."""
    folder = tmp_path_factory.mktemp("explorer")
    (folder / "_static").mkdir()
    shutil.copy(paths.root() / "book" / "_static" / "explorer.mjs", folder / "_static")
    text = f'<!doctype html><meta charset="utf-8"><body>{explorer.page(known).data}'
    (folder / "explorer.html").write_text(text, encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.trouble = []
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.address = (folder / "explorer.html").as_uri()
    yield page
    context.close()


def shown(page, **choice) -> dict[str, str]:
    """What the explorer says of a choice in its address."""
    page.goto(page.address + "?" + "&".join(f"{key}={value}" for key, value in choice.items()))
    page.wait_for_selector("[data-explorer][data-state=ready]", timeout=20_000)
    terms, texts = (page.locator(f".explorer-result {name}").all_inner_texts() for name in ("dt", "dd"))
    return dict(zip(terms, texts, strict=True))


def number(text: str) -> float:
    return float(re.search(NUMBER, text).group().replace("−", "-"))


def test_points_lie_on_and_in_the_set(known):
    for (name, k), of_set in zip(CASES, known["sets"], strict=True):
        joint = JointRange.from_moments(explorer.moments(name), k)
        supports = [joint.support(angle) for angle in np.linspace(-np.pi, np.pi, 90)]
        normals = np.array([[np.cos(s.angle), np.sin(s.angle)] for s in supports])
        values = np.array([s.value for s in supports])
        points = {method: q for method, *q, reason in of_set["points"][str(k)] if not reason and method != "LEACE"}
        inside = np.array([*of_set["boundary"][str(k)], *points.values()])
        assert (inside @ normals.T - values).min(axis=None) > -1e-7 * joint.scale
        beyond = 0.99 * np.array(points["PCA"])  # the control: no projection has a smaller average error
        assert (normals @ beyond - values).min(axis=0) < -1e-6 * joint.scale


@pytest.mark.browser
@pytest.mark.parametrize(("name", "k"), CASES)
def test_the_optimum_is_that_of_the_library(page, name, k):
    found = explorer.moments(name)
    average = StandardPCA(k).fit_moments(found)
    exact = {
        "average": found.counts / found.n @ JointRange.from_moments(found, k).pair(average.components_.T),
        "error": MinMaxFairPCA(k, objective="error", center="overall").fit_moments(found).certificate_.primal,
        "loss": MinMaxFairPCA(k, objective="loss", center="overall").fit_moments(found).certificate_.primal,
        "gap": DisparityFairPCA(k).fit_moments(found).gap_,
    }
    for criterion, wanted in exact.items():
        told = number(shown(page, data=name, k=k, criterion=criterion)["Value reached"])
        np.testing.assert_allclose(told, wanted, rtol=1e-6, atol=2e-6)
    for penalty, radius in ((0.0, 0.0), (0.35, 2.0), (1.0, 0.1), (5.0, 2.0)):
        wanted = RobustFairPCA(k, alpha=radius, penalty=penalty).fit_moments(found).objective_
        for criterion in ("robust", "penalty")[: 1 + (radius == 0)]:
            choice = {"data": name, "k": k, "criterion": criterion, "penalty": penalty, "radius": radius}
            told = number(shown(page, **choice)["Value reached"])
            assert wanted - 2e-6 <= told <= 1.002 * wanted + 2e-6, (criterion, penalty, radius)
    assert page.trouble == []


@pytest.mark.browser
def test_choosing_is_kept_in_the_address_and_a_wrong_choice_is_named(page):
    before = shown(page, criterion="penalty", penalty=0)["Optimum"]
    page.focus("#explorer-penalty")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('penalty=0.6')")
    assert page.locator(".explorer-result dd").first.inner_text() != before
    assert page.locator("#explorer-radius").is_disabled()
    page.select_option("#explorer-data", "ecoli")
    page.select_option("#explorer-k", "5")
    page.click("button[data-view=whole]")
    page.wait_for_function("() => location.search.includes('whole') && location.search.includes('ecoli')")
    said = page.locator(".explorer-picture").get_attribute("aria-label")
    assert "The whole set" in said
    page.reload()
    page.wait_for_selector("[data-explorer][data-state=ready]")
    assert page.locator(".explorer-picture").get_attribute("aria-label") == said
    shown(page, data="nowhere", k=2)
    assert "data = nowhere" in page.locator(".explorer-summary").inner_text()
    assert "Biodeg, k = 2" in page.locator(".explorer-summary").inner_text()
    assert page.trouble == []
