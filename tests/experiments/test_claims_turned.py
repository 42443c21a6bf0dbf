"""In a reader's own run a claim is answered by the rows of that run: an edit of a cell turns the answer on its page.

Claims that need rows of two experiments, or that no rows can answer, are *not judged in this run*.
"""

import html
import re
from typing import NamedTuple

import nbformat
import pytest

from compendium import paths, store
from compendium.catalogue import experiment
from compendium.claim_rules import HOLDS, IN_PART, NOT_JUDGED, NOT_SO
from compendium.engine import execute_cells
from compendium.ledger.claims import claims

OPEN = f"{NOT_JUDGED} in this run"


class Turn(NamedTuple):
    """An edit, and the answers to a claim without it and with it."""

    claim: str
    old: str
    new: str
    before: str
    after: str


class Page(NamedTuple):
    """A notebook with a setting that no page shows, and the edits of its second run.

    Edits of ``both`` runs give rows that a claim needs, or fewer; claims in ``open`` are judged in neither run."""

    name: str
    setting: dict
    turns: list[Turn]
    both: tuple[tuple[str, str], ...] = ()
    open: str = ""
    long: bool = False


SLOW = "[FairPCA(k).fit(X, sensitive_features=z) for _ in range(6)]"
HALF = """from evenspan import GroupMoments
    points = data.load(dataset)
    moments = GroupMoments.from_data(points.X[::2], points.groups[::2])"""
CONVEX = '"CFPCA-Mean Con.": (methods.convex_mean("released"), deltas)'
PCA = '"{}": (methods.standard, [()])'
SETS = """{}
sets = [{"dataset": one["dataset"]} for one in study.entry.executions.values()]"""
OF_EACH = """    rows, raw = [], data.group_moments(dataset)
    moments = vu2022.prepared(raw, raw, scaled=True)

    def put("""
SLOWER = "lambda S, *given: [timing.sdp_and_lp(S, *given) for _ in range(1 + 19 * (len(S[0]) == 8))][0]"
TWICE = "[timing.sdp_and_lp(S, shares, k, lap) for _ in range(2)]"
MEMORY = "return lee2023.memory_rows(memory_rows, memory_features)"
#: As if the method held matrices of d squared numbers.
SQUARES = """return [
        row | {"value": row["value"] + 200.0 * int(row["metric"].split()[-1]) ** 2 * ("FNPM" in row["method"])}
        for row in lee2023.memory_rows(memory_rows, memory_features)
    ]"""
TABLES, GROWTH = '[{"dataset": name} for name in rathore2025.TABLES]', ' + [{"study": "scaling"}]'
PAGES = [
    Page(
        "kleindessner2023-runtime",
        {"sizes": "1500 x 20, 1500 x 120", "repetitions": 3},
        [
            Turn(
                "K04",
                '"Fair PCA": lambda X, z: FairPCA(k).fit(X, sensitive_features=z)',
                f'"Fair PCA": lambda X, z: {SLOW}',
                HOLDS,
                NOT_SO,
            )
        ],
    ),
    Page(
        "kleindessner2023-theorems",
        {"problems": 6, "points": 500},
        [
            Turn("K01", "R @ orthonormal(rng, R.shape[1], 2), ", "orthonormal(rng, X.shape[1], 2), ", HOLDS, NOT_SO),
            Turn("K02", "constraint - of_means * mean_gap", "constraint - mean_gap", HOLDS, NOT_SO),
            Turn(
                "K03",
                "R, S = fair_basis(mean_constraints(moments), np.linalg.norm(X)), ",
                "R, S = np.eye(X.shape[1]), ",
                HOLDS,
                NOT_SO,
            ),
            Turn(
                "K08",
                "FairPCA(1).fit_moments(moments)",
                "FairPCA(1).fit_moments(moments.marginal(moments.attributes[0]))",
                HOLDS,
                NOT_SO,
            ),
            Turn(
                "K12",
                "fair = FairKernelPCA(2).fit(X, sensitive_features=z)",
                "fair = FairKernelPCA(2).fit(X, sensitive_features=z[::-1])",
                HOLDS,
                NOT_SO,
            ),
            Turn(
                "K13", "rng.normal(size=(len(groups), 3)) for groups in (z, new)", "groups[:, None] + {}", HOLDS, NOT_SO
            ),
        ],
    ),
    Page(
        "vu2022-toy",
        {"simulations": 10, "radii": 5, "penalties": "0, 1"},
        [
            Turn(
                "V12",
                "solve_exact(joint, shares, still, value)",
                "solve_exact(joint, shares[::-1], still, value)",
                HOLDS,
                IN_PART,
            ),
            Turn(
                "V28",
                "solve_exact(joint, shares, ball, penalty)",
                "solve_exact(joint, shares, (0.0, 0.0), penalty)",
                IN_PART,
                NOT_SO,
            ),
        ],
    ),
    Page(
        "vu2022-data",
        {"largest_deviation": 1e9},
        [Turn("V29", "moments = data.group_moments(dataset)", HALF, OPEN, NOT_SO)],
        open="V23",  # of the faces a stand-in is at hand
    ),
    Page(
        "vu2022-theorems",
        {"times": 0.1},
        [
            Turn(
                "V01",
                "np.linalg.eigh(COVARIANCES[0] - COVARIANCES[1])",
                "np.linalg.eigh(COVARIANCES[0])",
                NOT_SO,
                HOLDS,
            ),
            Turn("V02", '"violation": worst_case(v, q, e)', '"violation": worst_case(v, q, 0.5 * e)', HOLDS, NOT_SO),
            Turn(
                "V04",
                '"violation": p.min(axis=0) + np.array(GRID)',
                '"violation": p.min(axis=0) * np.array(GRID) / max(GRID)',
                NOT_SO,
                HOLDS,
            ),
            Turn("V05", "rng.choice([0.5, 1.0, 2.5]) + p.min(axis=0)", "rng.uniform() * p.min(axis=0)", NOT_SO, HOLDS),
            Turn("V07", "{name: quotient / largest - 1.0", "{name: quotient / total - 1.0", NOT_SO, HOLDS),
            Turn("V09", 'tried = {"violation": 0.0, "control"', 'tried = {"violation": 0.1, "control"', HOLDS, NOT_SO),
            Turn("V10", "0.4 * rng.normal(size=5)", "9.0 * rng.normal(size=5)", IN_PART, HOLDS),
            Turn("V11", "printed_objective(q, SHARES, e, penalty)", "{} + (q + e) @ SHARES", NOT_SO, HOLDS),
            Turn("V13", '"min-max error": "error"', '"min-max error": "loss"', IN_PART, NOT_SO),
        ],
        open="V03 V06 V08",
        long=True,
    ),
    Page(
        "vu2022-theorems",
        {"times": 0.6},
        [
            Turn(
                "V03",
                "closed_form(q, p, e, penalty)) / supremum",
                "closed_form(q, p, 0.5 * e, penalty)) / supremum",
                HOLDS,
                NOT_SO,
            ),
            Turn("V06", "+ 2 * C @ U", "+ C @ U", HOLDS, NOT_SO),
        ],
        open="V08",
        long=True,
    ),
    Page(
        "rathore2025-theorems",
        {"datasets": "npha", "pairs": 2},
        [
            Turn(
                "R01",
                'V, certificate) = float(np.linalg.eigvalsh(S).max()), solve_min_max(*S, k, "loss")',
                'V, certificate) = float(np.linalg.eigvalsh(S).max()), solve_min_max(*S, k, "error")',
                HOLDS,
                NOT_SO,
            ),
            Turn("R02", "np.trace(W.T @ middle @ W) / n)", "np.trace(W.T @ middle @ W) / (n - 1))", HOLDS, NOT_SO),
            Turn("R19", "(X @ W).var(axis=0).sum()", "(X @ W).var(axis=0, ddof=1).sum()", HOLDS, NOT_SO),
            Turn(
                "R03",
                "rng.uniform(0.0, 3.0, size=(2, d))",
                "np.tile(rng.uniform(0.0, 3.0, size=d), (2, 1))",
                NOT_SO,
                IN_PART,
            ),
            Turn("R04", "np.linalg.norm(U.T @ U - np.eye(5))", "np.linalg.norm(Q.T @ Q - np.eye(5))", NOT_SO, HOLDS),
            Turn(
                "R05",
                "algorithm_1(S, init=start)",
                "joint_diagonalise(S, init=start)",
                NOT_SO,
                HOLDS,
            ),
            Turn(
                "R26",
                "found = float(np.linalg.eigvalsh(S).max()), joint_diagonalise(S)",
                "found = float(np.linalg.eigvalsh(S).max()), joint_diagonalise(S, max_iter=1)",
                IN_PART,
                NOT_SO,
            ),
        ],
    ),
    Page(
        "lee2023-theorems",
        {"tables_tried": 10, "features": "4", "runs": 1},
        [
            Turn(
                "L01",
                "subspace_angles(V, leading[:, :k])",
                "subspace_angles(V, leading[:, 1 : k + 1])",
                IN_PART,
                NOT_SO,
            ),
            Turn("L02", "for m in range(1, d))", "for m in range(1, d) if k + m < d)", NOT_SO, HOLDS),
        ],
        open="L03",
    ),
    Page(
        "zhou2024-theorems",
        {"claims": "Z02, Z04, Z07"},
        [
            Turn("Z02", "margin=0.0", "margin=0.01", HOLDS, NOT_SO),
            Turn("Z04", "ours, scaled = inverse_weights(h), ", "ours, scaled = np.full(4, 0.25), ", HOLDS, NOT_SO),
            Turn("Z07", "last = (4 * b ", "last = (8 * b ", HOLDS, NOT_SO),
        ],
    ),
    Page(
        "zhou2024-theorems",
        {"claims": "Z01, Z03, Z06"},
        [
            Turn("Z01", "if value == min(F)]", "if value == max(F)]", HOLDS, IN_PART),
            Turn(
                "Z03", "rng.normal(size=(7, 2)), WIDTHS[::3])", "rng.normal(size=(7, 2)), WIDTHS[:1])", IN_PART, HOLDS
            ),
            Turn(
                "Z06",
                "CENTRES, HELD_OUT, DELTA = (1.0, 1000.0), ",
                "CENTRES, HELD_OUT, DELTA = (1.0, 1.0), ",
                IN_PART,
                HOLDS,
            ),
        ],
        both=(
            (
                "ENUMERATED = ((2, 2, 22), (2, 3, 13), (3, 2, 12), (3, 3, 8), (4, 2, 8))",
                "ENUMERATED = ((2, 2, 8), (2, 3, 7))",
            ),
        ),
        long=True,
    ),
    Page(
        "kleindessner2023-reductions",
        {"datasets": "sklearn_diabetes", "size": 60, "runs": 2, "bounds": "0.1"},
        [
            Turn(
                "K06",
                "reductions.weighted(E, weight) for E",
                "reductions.weighted(E, 1.0 - weight) for E",
                IN_PART,
                NOT_SO,
            )
        ],
        both=(("for name in names for kind in STUDIES]", 'for name in names for kind in ["logistic"]]'),),
        open="K07 K15",
    ),
    Page(
        "lee2023-learnability",
        {
            "sizes": "316",
            "runs": 2,
            "factors": "m",
            "factor_sizes": "316",
            "factor_runs": 1,
            "special_runs": 1,
        },
        [
            Turn(
                "L06",
                "lee2023.feed(power, lee2023.fresh(case, 1000, run), lee2023.BLOCKS)",
                "lee2023.feed(power, lee2023.fresh(case, 1000, run), 1)",
                IN_PART,
                NOT_SO,
            )
        ],
        open="L03 L04",
    ),
    Page(
        "lee2023-images",
        {"parts": "memory", "k": 10, "memory_rows": 128},
        [
            Turn("L05", MEMORY, SQUARES, HOLDS, NOT_SO),
            Turn("L08", MEMORY, SQUARES, IN_PART, NOT_SO),
        ],
        both=(("fitted(name, SMALL, 5120)", "fitted(name, SMALL, 640)"),),
        open="L07 L09",  # sizes of CelebA, and what it would show
        long=True,
    ),
    Page(
        "vu2022-components",
        {"splits": 1, "max_k": 2, "penalty": 0.6},
        [
            Turn(
                "V27",
                '"RFPCA": (methods.published_descent, (alpha, penalty))',
                '"RFPCA": (methods.standard, ())',
                HOLDS,
                NOT_SO,
            )
        ],
        both=(
            ("rows, used = [], ", "rows, points, used = [], vu2022.points(dataset), "),
            (
                'unit = {"dataset": dataset}',
                SETS,
            ),
            ("over=[unit, *mine]", "over=[*sets, *mine]"),
        ),
    ),
    Page(
        "vu2022-pareto",
        {"k": 3, "seeds": 1},
        [
            Turn("V26", '"FairPCA": (methods.weights_operator, rates)', PCA.format("FairPCA"), IN_PART, NOT_SO),
            Turn("V26", CONVEX, PCA.format("CFPCA-Mean Con."), IN_PART, NOT_SO),
        ],
        both=(
            (
                "    rows = []\n\n    def put(",
                OF_EACH,
            ),
            ("over=[unit, *mine]", 'over=[unit, unit | {"dataset": "german_credit"}, *mine]'),
        ),
    ),
    Page(
        "rathore2025-times",
        {"features": "4, 6, 20, 40", "features_programme": "3, 4, 6, 8", "repetitions": 1},
        [
            Turn(
                "R06",
                'algorithm_1(S, init="identity")',
                'algorithm_1(S, init="identity", max_iter=1)',
                HOLDS,
                IN_PART,
            ),
        ],
        both=((TABLES + GROWTH, GROWTH.removeprefix(" + ")),),
        open="R07 R08 R09 R10 R11",
    ),
    Page(
        "rathore2025-times",
        {"repetitions": 1},
        [
            Turn("R08", 'lambda S, shares, k, lap: solve_min_max(*S, k, "loss")', "timing.sdp_and_lp", HOLDS, NOT_SO),
        ],
        both=(
            (GROWTH, ""),
            ("data.load(dataset)", 'data.load("npha" if dataset == "lsac_bw" else dataset)'),  # needs no raw data
            ("points.X, points.groups)", "*(a[:: len(points.X) // 500] for a in (points.X[:, :12], points.groups)))"),
            ("rathore2025.ranks(dataset, known)", "rathore2025.ranks(dataset, known)[:8]"),
        ),
        open="R06 R07 R09 R10 R11",
        long=True,
    ),
]
JAFFE = Page(
    "zhou2024-kernels",
    {"dataset": "jaffe", "points": 120},
    [Turn("Z11", "FairKernelKMeans(fairness_weight=chosen", "FairKernelKMeans(fairness_weight=0.0", HOLDS, NOT_SO)],
)


def edited(name: str, folder, edits):
    """The entry of a notebook in which each old text, of one cell, is replaced."""
    entry = experiment(name)
    notebook = nbformat.read(paths.root() / entry.notebook, as_version=4)
    for old, new in edits:
        (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and old in cell.source)
        cell.source = cell.source.replace(old, new.replace("{}", old))
    nbformat.write(notebook, folder / "edited.ipynb")
    return entry.model_copy(update={"notebook": str(folder / "edited.ipynb")})


def shown(entry, setting) -> tuple[dict[str, str], str]:
    """The answers on the page of a run to its end that may read no stored row, and all that the page shows."""

    def refused(*_):
        raise AssertionError("stored rows were read")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "units_of", refused)
        page = execute_cells(entry, entry.complete(setting), to_the_end=True)["page"]
    outputs = [output for cell in page.cells if cell.cell_type == "code" for output in cell.outputs]
    text = "".join(str(output.get("data", {}).get("text/html", "")) for output in outputs)
    return dict(re.findall(r'id="claim-\w+">(\w+)</span>.*?<span class="[^"]*">([^<]*)</span>', text, re.DOTALL)), text


def check(page: Page, folder):
    """The answers without the edits and with them, and that nothing stored stands on the edited page."""
    before, _ = shown(edited(page.name, folder, page.both), page.setting)
    after, text = shown(
        edited(page.name, folder, [*page.both, *dict.fromkeys((t.old, t.new) for t in page.turns)]), page.setting
    )
    turns = {turn.claim: (turn.before, turn.after) for turn in page.turns}
    assert {claim: (before[claim], after[claim]) for claim in turns} == turns
    assert {claim for claim, answer in after.items() if answer == OPEN} == {*page.open.split()}
    for claim in after.keys() - turns.keys():
        assert after[claim] == before[claim]
    assert "This run is your own: a cell was edited: " in text
    for evidence in claims(list(turns))["evidence"]:
        assert html.escape(evidence) not in text


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=[pytest.mark.exhaustive] if page.long else []) for page in PAGES],
)
def test_an_edit_turns_the_answer_that_its_page_shows(page, tmp_path):
    check(page, tmp_path)


def test_an_edit_turns_an_answer_that_needs_raw_data(raw, tmp_path):
    raw(JAFFE.setting["dataset"])
    check(JAFFE, tmp_path)
