"""What the extension mends in written pages."""

import importlib.util

import pytest

from compendium import paths


@pytest.fixture(scope="module")
def access():
    place = paths.root() / "book" / "_ext" / "evenspan_access.py"
    spec = importlib.util.spec_from_file_location("evenspan_access", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NAVIGATION = (
    '<li><a class="reference internal" href="a.html">Fair <em>PCA</em> &amp; more</a><details><summary><span></span>'
    '</summary><ul><li><a class="current reference internal" href="#">Second</a><details open="open"><summary>'
)


def test_buttons_of_the_navigation_are_named_after_the_link_beside_them(access):
    page = access.mend(NAVIGATION)
    assert '<summary aria-label="Pages below: Fair PCA &amp; more">' in page
    assert '<details open="open"><summary aria-label="Pages below: Second">' in page
    assert "<summary>" not in page


@pytest.mark.parametrize(
    ("page", "mended"),
    [
        ('<p><a class="reference internal" href="a">x</a></p><details><summary>Solution</summary></details>', None),
        ('<summary aria-label="Toggle hidden content">', "<summary>"),
        ('<div class="citation" id="a" role="doc-biblioentry">', '<div class="citation" id="a" role="listitem">'),
        # An empty corner is no header, and a filled one stays.
        (
            '<tr><th class="head"><p></p></th><th class="head"><p>k</p></th></tr>',
            '<tr><td class="head"></td><th class="head"><p>k</p></th></tr>',
        ),
        ('<th></th><th class="blank level0" >&nbsp;</th>', '<td></td><td class="blank level0"></td>'),
        ('<thead><th scope="col">k</th></thead>', None),
    ],
)
def test_what_is_mended_and_what_stays(access, page, mended):
    assert access.mend(page) == (mended or page)


def test_regions_of_one_name_are_numbered_once(access):
    page = access.mend('<div role="region" aria-label="A">' * 3 + '<div role="region" aria-label="B">')
    assert page.count('"A"') == page.count('"A, number 2"') == page.count('"A, number 3"') == page.count('"B"') == 1


def test_mending_twice_changes_nothing_more(access):
    page = access.mend(
        f'<div class="sidebar-primary-items__start sidebar-primary__section">{NAVIGATION}<th class="head"></th>'
        + '<div role="region" aria-label="A">' * 2
    )
    assert 'role="banner"' in page
    assert access.mend(page) == page
