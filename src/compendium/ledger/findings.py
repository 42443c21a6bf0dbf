"""Findings: one list for the overview, the sections and their evidence.

The findings page of a paper shows each with ``show(key)``; the cell computes the evidence and refuses if the numbers do
not bear the statement out. The overview and the pages of the papers are made from the same list.
"""

import html
import re
from dataclasses import dataclass

import pandas as pd
from IPython.display import HTML

from evenspan.core.errors import ResultError

from .. import records
from ..book import tables
from ..store import MissingNumbersError
from . import findings_data as data
from . import findings_programs as programs
from . import findings_theorems as theorems
from .findings_evidence import Check, Evidence
from .page import choices

_NUMBER = re.compile(r"[+-]?(\d[\d.,]*|nan)( ?%)?")

#: Kinds of evidence, and how sure one can be of what rests on it.
KINDS = {
    "theorem": "proved; the numbers check the proof or are the counter-example",
    "exact computation": "computed to rounding on the data named, without sampling and without a choice of ours",
    "experiment": "measured on the data named, in the stored full run; other data can give other numbers",
    "recount": "counted in the printed numbers",
    "reading of code": "read in the released program, whose effect is measured below",
}
MISSING = "The stored full run that this rests on is not in this checkout."
PAPERS = ("rathore2025", "kleindessner2023", "lee2023", "vu2022", "zhou2024")


@dataclass(frozen=True)
class Finding:
    """One finding: the function of its evidence, the heading, the paper, kinds of evidence, whom it concerns."""

    check: Check
    title: str
    paper: str
    kinds: tuple[str, ...]
    affects: str

    @property
    def key(self) -> str:
        """The name of the function, as sections and rules write it."""
        return self.check.__name__.replace("_", "-")

    @property
    def page(self) -> str:
        """The page of its section, below the book's root."""
        return f"papers/{self.paper}/findings"


R, K, L, V, Z = PAPERS
_PROOF, _EXACT, _RUN, _COUNT, _CODE = KINDS

FINDINGS = (
    Finding(theorems.joint_diagonaliser, "Exact joint diagonalisation does not give equal losses", R, (_PROOF,),
            "users of Theorem 4.1 with fewer columns than features"),
    Finding(theorems.equal_errors, "Equal errors need no low rank", V, (_PROOF, _EXACT),
            "users who ask whether equal errors are attainable"),
    Finding(theorems.unreachable_equality, "On some data no projection has equal errors", V, (_EXACT,),
            "readers of tables in which a gap remains"),
    Finding(theorems.levelling_down, "A heavy penalty can make both groups worse off", V, (_EXACT,),
            "users of penalties on a difference"),
    Finding(theorems.dropped_sum, "Several groups: a sum that depends on the projection", V, (_PROOF, _EXACT),
            "implementers of Theorem B.2"),
    Finding(theorems.convex_up_to_the_share, "Convexity ends at the smaller share", V, (_PROOF, _EXACT),
            "readers of the rate of convergence"),
    Finding(theorems.too_many_removed, "Not every k and m leave a projection", L, (_PROOF,),
            "users who choose how many directions to remove"),
    Finding(theorems.proportional_clusters, "Maximal fairness where a proportional clustering exists", Z,
            (_PROOF, _EXACT), "users who take a small regulariser for the fairest clustering"),
    Finding(theorems.flattened_weights, "A shift that one kernel ignores flattens the weights of several", Z,
            (_PROOF, _RUN), "users of several kernels"),
    Finding(theorems.no_kernel_for_newcomers, "The fair kernel need not be a kernel for new people", Z,
            (_PROOF,), "readers of the generalisation bound"),
    Finding(programs.full_rank_baseline, "A baseline scored as an operator of full rank", V, (_CODE, _RUN),
            "readers of the FairPCA columns"),
    Finding(programs.centring_advantage, "An advantage that comes from centring", V, (_EXACT,),
            "users who compare methods with different centring"),
    Finding(programs.inert_grid, "A grid of tolerances that hardly moves", V, (_CODE, _EXACT),
            "readers of the CFPCA columns with the mean constraint"),
    Finding(programs.weight_outside_the_grid, "A column with a weight outside its grid", V, (_CODE, _RUN),
            "readers of the CFPCA columns with both constraints"),
    Finding(programs.stops_short, "The descent stops short of a minimum that is known", V, (_EXACT, _RUN),
            "users of subgradient descent with a constant step"),
    Finding(programs.fitted_on_scored, "Classifiers scored on the points they were fitted on", K, (_CODE, _RUN),
            "readers of accuracies, those of kernel classifiers above all"),
    Finding(programs.separation_in_sample, "Separation has a baseline above zero", V, (_CODE, _RUN),
            "readers of Table 4"),
    Finding(programs.erased_dimensions, "Erasing d - k dimensions is not erasing a concept", K, (_CODE, _RUN),
            "readers of the INLP and RLACE rows"),
    Finding(programs.wiped_blocks, "A block without a group erases all earlier steps", L, (_CODE, _RUN),
            "users of streams with a rare group"),
    Finding(programs.uncentred_stream, "Uncentred streams spend directions on the mean", L, (_CODE, _RUN),
            "users of streams that are not centred"),
    Finding(data.joint_gain, "Where the gain in MMD² comes from", R, (_RUN,),
            "users who expect equal means from a joint diagonalisation"),
    Finding(data.sensitive_column, "The sensitive attribute is among the features", R, (_EXACT, _COUNT),
            "readers of all four tables; users who prepare such data"),
    Finding(data.one_group, "A joint column that is one group's own PCA", R, (_EXACT,),
            "readers of Table 3"),
    Finding(data.certified_baseline, "A baseline that is the certified optimum", R, (_EXACT,),
            "users who compare with it on its own criterion"),
    Finding(data.same_splits, "Splits, folds and starts that are published", V, (_CODE, _RUN),
            "users who check the paper row by row"),
    Finding(data.chance_balance, "Balances within chance", Z, (_RUN,),
            "readers of the K1b rows"),
    Finding(data.stated_shares, "Balance and entropy together determine the group shares", Z, (_PROOF, _COUNT),
            "readers of rows with two groups"),
    Finding(data.swaps, "At heavy weights part of the price is the search", Z, (_RUN,),
            "users of large fairness weights"),
    Finding(data.noise_of_means, "Where means are equal, matching them removes noise", K, (_RUN,),
            "users with few features and groups that hardly differ"),
    Finding(data.fewer_directions, "Equal covariances with as few as half the directions", L, (_PROOF, _EXACT),
            "users who remove gap directions"),
    Finding(data.beyond_means, "Equal means do not hide the group from a kernel classifier", K, (_RUN,),
            "users who need the group to be hidden"),
)  # fmt: skip


def finding(key: str) -> Finding:
    """The finding of a key."""
    for one in FINDINGS:
        if one.key == key:
            return one
    raise ResultError(f"There is no finding {key!r}; there are {', '.join(one.key for one in FINDINGS)}.")


def all_evidence() -> dict[str, Evidence | None]:
    """The evidence of every finding, by its key; None as long as it waits for stored results."""
    return {one.key: _computed(one.check) for one in FINDINGS}


def _computed(check: Check) -> Evidence | None:
    try:
        return check()
    except MissingNumbersError:
        return None


def evidence(key: str) -> Evidence | None:
    """The evidence of one finding, if there is any yet; refuses if the numbers do not bear the statement out."""
    one = finding(key)
    everything = records.computed_once("findings")
    found = _read(everything[key]) if everything else _computed(one.check)
    if found is not None and not found.supported:
        raise ResultError(
            f"The numbers no longer bear out the finding {key!r} ({one.title}): {found.sentence} Correct the "
            f"section in book/{one.page}.md, or find what changed."
        )
    return found


def _read(found: dict | None) -> Evidence | None:
    """The evidence as it was computed once for all pages."""
    if found is None:
        return None
    table = found["table"] and pd.DataFrame(found["table"]["rows"], columns=found["table"]["columns"])
    return Evidence(**found | {"table": table})


def show(key: str) -> HTML:
    """What a section shows: kind of evidence and whom it concerns, the table, and the numbers in words."""
    one = finding(key)
    found = evidence(key)
    kinds = "; ".join(f"<b>{html.escape(kind)}</b> ({html.escape(KINDS[kind])})" for kind in one.kinds)
    about = f'<p class="finding-about">Evidence: {kinds}. Concerns {html.escape(one.affects)}.</p>'
    if found is None:
        return HTML(about + tables.sentence(MISSING).data)
    if found.table is not None:
        about += tables.table(_escaped(found.table), caption=found.caption, classes=_classes(found.table)).data
    return HTML(about + tables.sentence(found.sentence).data)


def overview() -> HTML:
    """All findings with paper, kind of evidence, whom they concern, and a link to the section."""
    rows = (
        f'<tr><td><a href="../{one.page}.html#finding-{one.key}">{html.escape(one.title)}</a></td><td>{one.paper}</td>'
        f"<td>{', '.join(one.kinds)}</td><td>{html.escape(one.affects)}</td></tr>\n"
        for one in FINDINGS
    )
    head = {"Finding": "", "Paper": "paper", "Evidence": "evidence", "Concerns": ""}
    return choices("findings", f"{len(FINDINGS)} findings", head, rows)


def told(*keys: str, up: str = "../../") -> HTML:
    """Findings as a list: the heading, linked to its section, and the numbers in words.

    Parameters
    ----------
    keys : str
    up : str
        The way from the page to the book's root.
    """
    lines = []
    for key in keys:
        one, found = finding(key), evidence(key)
        said = MISSING if found is None else found.sentence
        link = f'<a href="{up}{one.page}.html#finding-{key}">{html.escape(one.title)}.</a>'
        lines.append(f"<li>{link} {html.escape(said)}</li>")
    return HTML(f"<ul>{''.join(lines)}</ul>")


def kinds() -> HTML:
    """The kinds of evidence and what they are worth."""
    frame = pd.DataFrame(
        [(kind, words, sum(kind in one.kinds for one in FINDINGS)) for kind, words in KINDS.items()],
        columns=["evidence", "how sure one can be", "findings that rest on it"],
    )
    return tables.table(frame, caption="Kinds of evidence")


def _classes(frame: pd.DataFrame) -> str:
    """How many columns the style sheet aligns as words: those before the first that holds numbers, three at most."""
    numbers = [frame.iloc[:, j].map(lambda v: bool(_NUMBER.fullmatch(str(v)))).all() for j in range(frame.shape[1])]
    leading = numbers.index(True) if any(numbers) else len(numbers)
    return "result-table" if leading == 2 else f"result-table words-{1 if leading < 2 else 3}"


def _escaped(frame: pd.DataFrame) -> pd.DataFrame:
    escaped = frame.map(lambda value: html.escape(value) if isinstance(value, str) else value)
    return escaped.rename(columns=lambda name: html.escape(str(name)))
