"""Evidence for findings about programs and protocols: what was run, how it was scored, and what that changes."""

import numpy as np

from ..claim_rules import rule
from ..data import split_moments
from ..papers.kleindessner2023 import readings as adult
from ..papers.lee2023.protocol import RARE
from ..papers.lee2023.readings import special_table
from ..store import full
from .findings_evidence import Evidence, adult_means


def fitted_on_scored() -> Evidence:
    """Accuracy on the points that a classifier was fitted on, against that on other points."""
    rows = full("kleindessner2023-table")
    found = adult.summary(rows)
    effect = adult.protocol_effect(found[(found["dataset"] == "adult") & (found["k"] == 10)])
    some = effect[effect["metric"].str.startswith("%Acc")].groupby("metric", sort=False)["effect"].agg(["min", "max"])
    svm = effect[(effect["metric"] == "%Acc (Kernel SVM)") & (effect["method"] != "PCA")].set_index("method")
    return Evidence(
        supported=(some.loc["%Acc (Kernel SVM)"] > 0).all() and some["max"].idxmax() == "%Acc (Kernel SVM)",
        sentence=(
            f"For the kernel SVM the published protocol adds {some.loc['%Acc (Kernel SVM)', 'min']:.1f} to "
            f"{some.loc['%Acc (Kernel SVM)', 'max']:.1f} points; the range over the fair methods is "
            f"{np.ptp(svm['released']):.1f} points in it and {np.ptp(svm['held-out']):.1f} held out. First among them: "
            f"{svm['released'].idxmax()} as published, {svm['held-out'].idxmax()} held out."
        ),
        table=some.round(2).reset_index().rename(columns={"min": "smallest difference", "max": "largest difference"}),
        caption="Adult, k = 10: accuracy scored on the fitted points less accuracy held out, over the methods",
    )


def erased_dimensions() -> Evidence:
    """INLP and RLACE asked to erase d - k directions, and asked for what they find."""
    d, methods = split_moments("adult", 0, "train").d, ["INLP", "INLP, most variance", "RLACE", "RLACE, rank 1"]
    shown = adult_means("released").loc[methods, ["%Var", "%Acc (Kernel SVM)", "MMD^2"]]
    var = shown["%Var"]
    return Evidence(
        supported=var["RLACE, rank 1"] > rule("erased-dimensions", "times RLACE") * var["RLACE"]
        and var["INLP, most variance"] > rule("erased-dimensions", "times INLP") * var["INLP"],
        sentence=(
            f"k/d is {1000 / d:.1f} %; called to erase d - k directions INLP keeps {var['INLP']:.1f} % of the "
            f"variance and RLACE {var['RLACE']:.1f} %. Choosing what is kept by variance gives "
            f"{var['INLP, most variance']:.1f} %, erasing one direction by RLACE and then doing PCA "
            f"{var['RLACE, rank 1']:.1f} %."
        ),
        table=shown.round(3).reset_index(),
        caption="Adult, k = 10, published protocol, means over the splits",
    )


def wiped_blocks() -> Evidence:
    """The estimated gap directions when a block may lack a group: as released, skipped, carried on."""
    rows = full("lee2023-learnability")
    rare = special_table(rows, "rare group")
    wide = rare.pivot(index="method", columns="metric", values="median")
    sine = wide["sine of W"]
    best = sine.idxmin()
    return Evidence(
        supported=sine["released"] > sine["skip"] > sine[best] + rule("wiped-blocks", "larger by")
        and best.startswith("carry to"),
        sentence=(
            f"After {RARE['blocks']} blocks of {RARE['size']} rows with {RARE['p']:.0%} of one group the median sine "
            f"of the largest angle to the true directions is {sine['released']:.2f} as released, {sine['skip']:.2f} "
            f"if such blocks are skipped and {sine[best]:.2f} with '{best}'."
        ),
        table=wide[["sine of W", "blocks without a step"]].round(2).reset_index(),
        caption="A rare group in a stream of short blocks, medians over the runs",
    )


def uncentred_stream() -> Evidence:
    """Second moments about zero: how much of the mean is among the removed directions."""
    rows = full("lee2023-learnability")
    found = special_table(rows, "shifted mean")
    wide = found.pivot(index=["parameter", "method"], columns="metric", values="median")
    longest = wide.loc[wide.index.get_level_values("parameter").max()]["sine of W"]
    zero, running = longest["about zero"], longest["about the running mean"]
    chosen = [name for name in ("sine of W", "share of the mean in W", "covariance gap") if name in wide]
    return Evidence(
        supported=zero > running + rule("uncentred-stream", "larger by"),
        sentence=(
            "With the largest of the means that were tried, the sine of the largest angle to the true gap directions "
            f"is {zero:.2f} for moments about zero and {running:.2f} about the running mean."
        ),
        table=wide[chosen].round(3).reset_index(names=["length of the mean", "centring"]),
        caption="Streams with a shifted mean, medians over the runs",
    )
