"""Contradictions X15 to X33, in the other four papers and between papers: recounted, computed or told apart."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from evenspan.reconstruction.min_max import solve_min_max

from .. import data as datasets
from .. import paths
from ..papers.kleindessner2023 import claims as adult
from ..papers.kleindessner2023.readings import summary
from ..papers.lee2023.claims import EXPERIMENT as LEARNABILITY
from ..papers.lee2023.readings import special_table
from ..papers.rathore2025 import protocol as rathore
from ..papers.vu2022.readings import agreement
from ..papers.zhou2024 import arithmetic
from ..store import read_results
from .claim_rules import HOLDS
from .contradictions_claims import BOTH, FIRST, NEITHER, OPEN, PART, SECOND, Check, Outcome, answer_of, by_claim

#: The rate of Theorem 4.3 is claim V08.
RATE = "The rate itself is that of the best iterate; claim V08 judges it."
NOTATION = (
    "Read as 'a size of this order suffices', with each accuracy told by its exponent and S as the difference of the "
    "group covariances, the sizes can be compared with runs."
)


def adult_numbers() -> Outcome:
    """X15: the disparities of Fair PCA and PCA beside each other, where the printed shares agree (K10)."""
    answer = answer_of("K10")
    linear, kernel = (adult.printed(f"Delta_DP ({name} SVM)") for name in ("Linear", "Kernel"))
    allowed = kernel["Fair PCA"] == kernel["PCA"] and linear["Fair PCA"] < linear["PCA"]
    return (BOTH if answer.printed == HOLDS and allowed else OPEN), (
        f"{answer.evidence} (Claim K10: {answer.printed}.) Fair PCA has the disparity of PCA with the kernel SVM "
        f"({kernel['Fair PCA']:g} and {kernel['PCA']:g}) and a smaller one with the linear SVM "
        f"({linear['Fair PCA']:g} and {linear['PCA']:g}): equal means promise no more. No contradiction was found."
    )


def order_of_eigenvectors() -> Outcome:
    """X18: which m eigenvectors the power iteration finds where the two readings differ."""
    rows = read_results(LEARNABILITY, protocol="order of eigenvalues")
    answer = answer_of("L06")
    if answer is None:
        return None
    sines = special_table(rows, "order of eigenvalues").pivot(index="dataset", columns="metric", values="median")
    signed, absolute = sines["sine to the largest"], sines["sine to the largest in absolute value"]
    apart = (signed - absolute).abs() > 0.5
    closer = int((absolute[apart] < signed[apart]).sum())
    outcome = SECOND if apart.any() and closer == apart.sum() else PART if closer else FIRST
    return outcome, (
        f"{answer.evidence} The readings differ in {apart.sum()} of {len(sines)} cases; in {closer} of these the "
        "iteration ends at the eigenvalues that are largest in absolute value."
    )


def slips() -> Outcome:
    """X23: of the slips one can be computed; the others name places that do not exist or exist twice."""
    d, k = 5, 2
    V = np.linalg.qr(np.random.default_rng(23).normal(size=(d, k)))[0]
    right = np.allclose(V.T @ V, np.eye(k)) and (V.T @ V).shape != (d, d)
    return (SECOND if right else OPEN), (
        f"V'V of {k} orthonormal columns in {d} dimensions is the identity of order {k}. For the other places the "
        "intended one follows from the content; no number depends on them."
    )


def single_runs() -> Outcome:
    """X29: whether Bal and MNCE of Credit Card can be single runs, and whether they can be means."""
    implied, ordered = arithmetic.implied("credit_card"), arithmetic.out_of_order("credit_card")
    low, high = arithmetic.shares_allowed("credit_card")
    single = implied["share from"].max() <= implied["share to"].min() and ordered.empty
    if single:
        return BOTH, "All columns can be single runs on data with the same two groups."
    return (BOTH if low < high else NEITHER), (
        "As single runs with two groups the columns state shares of the smaller group from "
        f"{implied['share from'].min():.3f} to {implied['share to'].max():.3f}, and {len(ordered)} pairs of methods "
        "are in different orders by the two measures. As means over several runs they "
        + (
            f"can all be right, for a share between {low:.3f} and {high:.3f}."
            if low < high
            else "cannot be right either."
        )
    )


def balance_of_many_groups() -> Outcome:
    """X30: with how many groups, or with what rounding, a balance of 0 goes with an entropy above 0."""
    cells = pd.read_csv(paths.data("paper", "zhou2024_table1_single_kernel.csv"))
    wide = cells.pivot(index=["dataset", "method"], columns="metric", values="value").reset_index()
    odd = wide[(wide["Bal"] == 0) & (wide["MNCE"] > 0)]
    smallest = odd[odd["dataset"] == "MNIST-USPS"]
    half = float(arithmetic.entropy_of_balance(arithmetic.HALF_DIGIT)) / np.log(2.0)
    rounded = bool(len(smallest)) and bool((smallest["MNCE"] - arithmetic.HALF_DIGIT <= half).all())
    groups = len(datasets.entry("jaffe").groups)
    counts = ", ".join(f"{name} {n}" for name, n in odd["dataset"].value_counts(sort=False).items())
    return (BOTH if rounded and groups > 2 else OPEN), (
        f"{len(odd)} columns ({counts}). Jaffe has {groups} groups, and with more than two the smallest ratio of any "
        f"pair can be 0 while the entropy is not. On MNIST-USPS, with two groups, a balance that rounds to 0 allows an "
        f"MNCE of up to {half:.4f}; printed is {smallest['MNCE'].max():g}."
    )


def level_of_the_bound() -> Outcome:
    """X31: the bound needs a real, finite root of log(1/delta); and how many tables have several kernels."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {delta: float(np.sqrt(np.log(np.divide(1.0, delta)) / 2.0)) for delta in (0.0, 0.05, 1.0, 2.0)}
    usable = [delta for delta, value in values.items() if np.isfinite(value)]
    stems = sorted(path.stem for path in paths.data("paper").glob("zhou2024_table*.csv"))
    told = ", ".join(f"delta = {delta:g}: {value:.3g}" for delta, value in values.items())
    return (SECOND if len(usable) < len(values) else FIRST), (
        f"The factor with log(1/delta): {told}; at 0 the bound is infinite, above 1 it is not a real number, at 1 it "
        f"is promised with probability 0. Printed tables of results: {len(stems)}, with one kernel."
    )


def larger_loss_or_error() -> Outcome:
    """X32: which objective gives the printed numbers of the method of Samadi et al., in both papers."""
    equal, total = {"loss": 0, "error": 0}, 0
    for name in ("diabetes", "npha"):
        moments, theirs = rathore.moments(name), rathore.printed(name)["FairPCA_SDP_LP"][list(rathore.PRINTED)]
        S, total = rathore.matrices(moments, "global"), total + theirs.size
        for kind in equal:
            values = [list(rathore.judged(moments, solve_min_max(*S, k, kind)[0]).values()) for k in theirs.index]
            equal[kind] += int((np.abs(np.array(values) - theirs.to_numpy()) <= rathore.HALF_DIGIT).sum(axis=None))
    named = ("FairPCA", "FairPCA (exact)", "FairPCA (error, exact)")
    rows = read_results("vu2022-tables", method=named)
    if not set(named) <= set(rows["method"]):
        return None
    off = agreement(rows[rows["dataset"] != "lfw_24x24"], dict.fromkeys(named, "FairPCA"))
    off = off[off["table"].isin(["Table 1", "Table 3"])].groupby("ours")["median deviation"].max()
    nearer = off["FairPCA (exact)"] < off["FairPCA (error, exact)"]
    return (FIRST if equal["loss"] == total > equal["error"] and nearer else OPEN), (
        f"Of {total} numbers printed by Rathore and Manwani for Diabetes and NPHA the smallest larger loss gives "
        f"{equal['loss']}, the smallest larger error {equal['error']}. In Tables 1 and 3 of Vu et al. the median "
        f"deviation of the FairPCA column is at most {off['FairPCA (exact)']:.2%} from the exact solution for the "
        f"loss and {off['FairPCA (error, exact)']:.2%} from that for the error ({off['FairPCA']:.2%} from their "
        "program, which takes the loss). Both papers ran the loss; the sentence about the error describes something "
        "else."
    )


def two_discrepancies() -> Outcome:
    """X33: what is printed as MMD^2 by Kleindessner et al., against the squared distance of the means."""
    rows = read_results("kleindessner2023-table", dataset="adult", k=10, method="Fair PCA")
    if rows.empty:
        return None
    mean = summary(rows).set_index(["protocol", "metric"])["mean"]
    cells = pd.read_csv(paths.data("paper", "kleindessner2023_adult_k10.csv"))
    theirs = float(cells[(cells["method"] == "Fair PCA") & (cells["metric"] == "MMD^2")]["value"].iloc[0])
    kernel, square = mean["released", "MMD^2"], mean["held-out", "mean gap"] ** 2
    inside, zero = mean["in sample", "MMD^2"], mean["in sample", "mean gap"]
    agrees = abs(kernel - theirs) <= 0.0005 < abs(square - theirs)
    return (BOTH if agrees and zero < 1e-9 < inside else OPEN), (
        f"Printed {theirs:g} for Fair PCA; with a Gaussian kernel on the test parts ours is {kernel:.4f}. On the "
        f"training parts the means coincide (distance {zero:.0e}) and the kernel still finds {inside:.4f}, since it "
        f"sees more than means; on the test parts the square of the mean distance is {square:.3f}. Two quantities "
        "have one name: a kernel distance of distributions there, the squared distance of means in the other paper."
    )


checks: Mapping[str, Check] = {
    "X15": adult_numbers,
    "X16": by_claim("L02"),
    "X17": by_claim("L04", holds=BOTH, in_part=OPEN, not_so=OPEN, also=NOTATION),
    "X18": order_of_eigenvectors,
    # The sentences describe the table without the faces: there both hold.
    "X19": by_claim("V18", "V20", side="printed", in_part=BOTH),
    "X20": by_claim("V21", side="printed"),
    "X21": by_claim("V17", side="printed"),
    "X22": by_claim("V25"),
    "X23": slips,
    "X24": by_claim("V01"),
    "X25": by_claim("V11"),
    "X26": by_claim("V04", "V05", in_part=SECOND),
    "X27": by_claim("V07", holds=OPEN, in_part=OPEN, also=RATE),
    "X28": by_claim("Z10", side="printed"),
    "X29": single_runs,
    "X30": balance_of_many_groups,
    "X31": level_of_the_bound,
    "X32": larger_loss_or_error,
    "X33": two_discrepancies,
}
