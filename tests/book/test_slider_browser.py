"""Figures with a slider as a reader meets them: keys, numbers, phone, paper, opened from disk, and without scripts."""

import pandas as pd
import pytest

from compendium import paths
from compendium.data import group_moments
from compendium.papers.zhou2024.base_kernels import base_kernel
from evenspan import FairKernelKMeans, MinMaxFairPCA, RobustFairPCA
from evenspan.core.cluster_counts import ClusterCounts

from .conftest import visited, watched

pytestmark = pytest.mark.browser

#: What is drawn for a position and shown, and where, in pixels.
SHOWN = """() => [...document.querySelectorAll('.slider [data-position]')].filter(e => e.getClientRects().length
    && !e.hasAttribute('display')).map(e => {
        const box = e.getBoundingClientRect();
        return [e.dataset.position, Math.round(box.left), Math.round(box.top)];
    })"""

#: The sentence follows the figure, whose text says it at once.
TOLD = """() => document.querySelector('.slider svg').getAttribute('aria-label').endsWith(
    document.querySelector('.slider p').textContent)"""


def penalty(value: str) -> list[str]:
    wine = group_moments("wine_quality").standardised()
    first, second = RobustFairPCA(3, alpha=0.15, penalty=float(value)).fit_moments(wine).group_errors_
    return [f"is {wine.counts @ (first, second) / wine.n:.3f} and the difference {first - second:.3f}"]


def rank(value: str) -> list[str]:
    wine = group_moments("wine_quality").standardised()
    found = MinMaxFairPCA(int(value.split()[0]), objective="error", center="group").fit_moments(wine).certificate_
    return [f"leaves {found.primal:.3f}", f"below {found.dual:.3f}"]


def weight(value: str) -> list[str]:
    example = pd.read_csv(paths.build("numbers", "zhou2024", "kernel-example.csv"))
    K, codes = base_kernel(example[["x", "y"]].to_numpy(), 7), example["group"].to_numpy()
    model = FairKernelKMeans(3, kernel="precomputed", fairness_weight=float(value)).fit(K, sensitive_features=codes)
    found = ClusterCounts.from_labels(model.labels_, codes)
    return [f"balance is {found.balance:.3f}", *(", ".join(map(str, members)) for members in found.counts.T)]


PAGES = {
    "papers/vu2022/derivation.html": penalty,
    "papers/vu2022/min-max.html": rank,
    "papers/zhou2024/derivation.html": weight,
}


@pytest.mark.parametrize("name", PAGES)
def test_keys_lead_to_the_numbers_of_the_library(browser, html, name):
    context = browser.new_context(reduced_motion="reduce")
    address = html.as_uri()
    page = visited(watched(context.new_page(), address), f"{address}/{name}", width=390, height=844)
    says, start = page.locator(".slider p[aria-live]"), page.evaluate(SHOWN)
    published, place = says.inner_text(), int(page.locator(".slider input").input_value())
    page.get_by_role("slider").focus()
    for key, moved in (("ArrowLeft", place - 1), ("Home", 0), ("ArrowRight", 1)):
        page.keyboard.press(key)
        shown = page.evaluate(SHOWN)
        assert {int(one) for one, *_ in shown} == {moved}
        assert [spot for _, *spot in shown] != [spot for _, *spot in start]
        value = page.get_by_role("slider").get_attribute("aria-valuetext")
        assert page.locator(".slider label b").inner_text() == value
        page.wait_for_function(TOLD)
        for words in PAGES[name](value):
            assert words in says.inner_text()
    assert page.evaluate("() => document.scrollingElement.scrollWidth - window.innerWidth") <= 1
    page.emulate_media(media="print")
    page.wait_for_function("words => document.querySelector('.slider p').textContent === words", arg=published)
    assert {int(one) for one, *_ in page.evaluate(SHOWN)} == {place}
    assert not page.get_by_role("slider").is_visible()
    page.emulate_media(media="screen")
    page.wait_for_function("words => document.querySelector('.slider p').textContent !== words", arg=published)
    assert {int(one) for one, *_ in page.evaluate(SHOWN)} == {1}
    assert page.trouble == []
    context.close()
