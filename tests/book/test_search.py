"""The search of the built book: what a reader may ask, and the pages that must be among the first five answers."""

import pytest

#: A question, and the pages of which one at least has to be among the first five.
ASKED = {
    # people and papers
    "Kleindessner": ("papers/kleindessner2023/index",),
    "Viet Anh Nguyen": ("papers/vu2022/index",),
    "Manwani": ("papers/rathore2025/index",),
    "Peng Zhou kernel": ("papers/zhou2024/index",),
    "Samadi": ("references", "papers/vu2022/min-max"),
    "Efficient fair PCA for fair representation learning": ("papers/kleindessner2023/index",),
    # printed tables
    "Table 3 vu2022": ("ledger",),
    "Table 1 zhou2024 K1b": ("ledger",),
    # methods, by the names of papers and of the library
    "RFPCA": ("reference/api/evenspan.RobustFairPCA",),
    "FKKM": ("reference/api/evenspan.FairKernelKMeans",),
    "MbF-PCA": ("reference/api/evenspan.MMDFairPCA",),
    "FairPCA_SDP_LP": ("reference/api/evenspan.MinMaxFairPCA",),
    "MinMaxFairPCA": ("reference/api/evenspan.MinMaxFairPCA",),
    "leace": ("reference/api/evenspan.LEACE",),
    "null-it-out": ("reference/api/evenspan.NullItOutPCA",),
    "mean_gap": ("reference/metrics",),
    # terms
    "demographic parity": ("reference/glossary", "reference/metrics"),
    "joint range": ("foundations/joint-range",),
    "certificate": ("reference/glossary", "foundations/verdicts", "reference/answers"),
    "MNCE": ("reference/metrics", "foundations/cluster-counts"),
    # data sets, help
    "COMPAS": ("data/cards/compas",),
    "K1b": ("data/cards/k1b",),
    "scikit-learn pipeline": ("yours/coming-from", "yours/index", "yours/faq"),
    "Binder": ("reproduce",),
    "how to cite": ("cite",),
    "errata": ("findings/errata",),
    # what readers, rerunners and citers ask
    "error gap": ("reference/glossary", "reference/metrics"),
    "my own method": ("yours/bring-your-method", "across/leaderboard"),
}


@pytest.mark.browser
def test_what_is_asked_is_among_the_first_answers(reader):
    page = reader("search.html")
    page.wait_for_function("() => Search.hasIndex()")
    found = page.evaluate(
        """questions => questions.map(q => Search._performSearch(...Search._parseQuery(q)).reverse().map(r => r[0]))""",
        list(ASKED),
    )
    first = {question: list(dict.fromkeys(pages))[:5] for question, pages in zip(ASKED, found, strict=True)}
    assert {question: pages for question, pages in first.items() if not set(pages) & set(ASKED[question])} == {}
    assert page.evaluate("() => Search._performSearch(...Search._parseQuery('xyzzy'))") == []
    assert page.trouble == []
