"""Claims of Lee et al. (2023), answered from stored runs and by the searches of ``theorems``.

The numbers by which they are judged stand in ``data/tolerances.yml``. Those on slopes and exponents were fixed before
the full run.
"""

from collections.abc import Callable, Mapping

import numpy as np

from evenspan import metrics

from ...claim_rules import HOLDS, IN_PART, NOT_SO, Answer, by_parts, rule
from ...data.portraits import CELEBA_SIZE, CELEBA_TRAIN
from ...store import MissingNumbersError, full, read_results
from . import images, theorems
from .images import BLOCKS, CELEBA, HALF, LARGEST_K, LIMIT, MEMORY, PAIRED, SHOWN, STREAMED, STREAMED_MEAN
from .protocol import ABSOLUTE, BOTH, EXACT, FACTORS, GIVEN, ORDERS, SIGNED, order_name
from .readings import BEYOND, growth_table, slopes_beyond, special_table

EXPERIMENT, IMAGES = "lee2023-learnability", "lee2023-images"
MAIN = "gap-controlled"

# -- how many samples --------------------------------------------------------------------------------------------------


def learnable() -> Answer:
    """L03: the rates on a population with a mean gap, and whether the loss falls at all without one (g = 0)."""
    found = rates()
    equal_means = theorems.learns_equal_means()
    answer = found.here if found.here == equal_means.here else IN_PART
    return Answer(answer, f"{found.numbers} {equal_means.numbers}")


def rates() -> Answer:
    """Of L03: both gaps fall with the samples, at the rates of the theory, on the population with prescribed gaps."""
    rows = read_results(EXPERIMENT, protocol="slopes")
    if MAIN not in set(rows["dataset"]):
        raise MissingNumbersError(f"Nothing is stored of {MAIN}.")
    table = slopes_beyond(rows)
    fair = rule("L03", "slope of eps_f, lowest"), rule("L03", "slope of eps_f, highest")
    optimal = rule("L03", "slope of eps_o, lowest"), rule("L03", "slope of eps_o, highest")
    done = []
    for metric, experiment, (low, high) in (("eps_f", EXACT, fair), ("eps_o", GIVEN, optimal)):
        done.append(low <= table.loc[(MAIN, experiment, metric), "slope"] <= high)
        done.append(table.loc[(MAIN, BOTH, metric), "high"] < 0.0)
    texts = []
    for generator in table.index.unique("generator"):
        wanted = [("eps_f", EXACT), ("eps_o", GIVEN)] + [("eps_f", BOTH), ("eps_o", BOTH)] * (generator == MAIN)
        for metric, experiment in wanted:
            line = table.loc[(generator, experiment, metric)]
            texts.append(
                f"{generator}, {experiment}, {metric} {line['slope']:.2f} [{line['low']:.2f}, {line['high']:.2f}]"
            )
    evidence = (
        f"Slopes of the 90 % quantile against the rows of a block, from {BEYOND} rows on, with 95 % intervals. "
        f"{'; '.join(texts)}. Judged on the population with prescribed gaps; a simulation shows no more than that the "
        "rates of the theorem are met on it."
    )
    return Answer(by_parts(done), evidence)


def sample_size() -> Answer:
    """L04: the rows needed grow with no factor faster than the bound does."""
    rows = full(EXPERIMENT, "protocol", protocol=["slopes", *(f"growth in {name}" for name in FACTORS)])
    fitted, texts, verdicts = slopes_beyond(rows), [], []
    for metric, experiment in (("eps_f", EXACT), ("eps_o", GIVEN)):
        line = fitted.loc[(MAIN, experiment, metric)]
        # Where the interval of the slope reaches 0, no number of samples is known to be enough.
        ends = (-1.0 / line.low, -1.0 / line.high if line.high < 0.0 else np.inf)
        bound = rule("L04", "exponent of 1/eps")
        verdicts.append(0.0 < ends[0] <= bound + rule("L04", "tolerance"))
        texts.append(f"1/{metric} {-1.0 / line.slope:.2f} [{ends[0]:.2f}, {ends[1]:.2f}] ({bound:g})")
    table = growth_table(rows)
    for row in table[table["consistent"] != "–"].to_dict("records"):
        verdicts.append(row["consistent"] == "yes")
        name = f"{row['factor']} for {row['metric']}"
        texts.append(f"{name} {row['exponent']:.2f} [{row['low']:.2f}, {row['high']:.2f}] ({row['bound']:g})")
    evidence = (
        "Exponents with which the rows needed grow, with 95 % intervals and the exponent of the bound in brackets: "
        f"{'; '.join(texts)}. Not faster than the bound in {sum(verdicts)} of {len(verdicts)}. Where a gap gets "
        "smaller, the blocks of its phase are made more in proportion, which is one power of these exponents."
    )
    return Answer(by_parts(verdicts), evidence)


def top_eigenvectors() -> Answer:
    """L06: the eigenvectors of the largest eigenvalues, or of those largest in absolute value."""
    rows = full(EXPERIMENT, protocol="order of eigenvalues")
    table = special_table(rows, "order of eigenvalues").pivot(index="dataset", columns="metric", values="median")
    table = table.loc[[order_name(*case) for case in ORDERS]]
    sines = "; ".join(f"{name}: {row[SIGNED]:.2f}, {row[ABSOLUTE]:.2f}" for name, row in table.iterrows())
    evidence = (
        "Median sine of the largest angle between the last W and the eigenvectors of the m largest eigenvalues, "
        f"and of the m largest in absolute value: {sines}."
    )
    signed, absolute = ((table[order] < rule("L06", "found")).all() for order in (SIGNED, ABSOLUTE))
    return Answer(HOLDS if signed else IN_PART if absolute else NOT_SO, evidence)


# -- images and memory -------------------------------------------------------------------------------------------------


def little_memory() -> Answer:
    """L05: o(d^2) memory."""
    largest = images.named(CELEBA_SIZE)
    rows = read_results(IMAGES, dataset=[MEMORY, largest], method=[STREAMED, SHOWN])
    if MEMORY not in set(rows["dataset"]):
        raise MissingNumbersError(f"Nothing is stored of {MEMORY}.")
    some, slope, units = images.largest_runs(rows)
    last = some.iloc[-1]
    evidence = (
        f"Peak allocation at d = {last['d']:,}, k = {LARGEST_K}, m = {images.M}, batches of {images.LARGEST_BATCH}, "
        f"single precision: {last['value'] / 1e9:.2f} GB, which is {units:.1f} times 4 d (k + m + q) bytes, where a "
        f"d x d matrix would take {4 * last['d'] ** 2 / 1e9:.0f} GB. From d = {some['d'].iloc[0]:,} on it grows as d "
        f"to the power {slope:.2f}."
    )
    peak = "peak memory of the process, MiB"
    whole = rows[(rows["dataset"] == largest) & (rows["method"] == SHOWN) & (rows["metric"] == peak)]
    if len(whole):
        evidence += (
            f" A process that fits images of {CELEBA_SIZE[0]} x {CELEBA_SIZE[1]} x 3 values reaches "
            f"{whole['value'].iloc[0]:,.0f} MiB in all, programs and drawing included."
        )
    parts = [abs(slope - 1.0) < rule("L05", "exponent"), units <= rule("L05", "times the state")]
    return Answer(HOLDS if all(parts) else IN_PART if parts[0] else NOT_SO, evidence)


def too_large_to_load() -> Answer:
    """L07: the images cannot be loaded on a moderate-sized computer."""
    moderate = rule("L07", "small computer, bytes"), rule("L07", "large computer, bytes")
    values = CELEBA_TRAIN * 3 * CELEBA_SIZE[0] * CELEBA_SIZE[1]
    needed = {"single bytes": values, "32-bit numbers": 4 * values}
    exceeds = [size > memory for size in needed.values() for memory in moderate]
    text = ", ".join(f"{size / 1e9:.1f} GB as {name}" for name, size in needed.items())
    evidence = (
        f"The images themselves are not available and cannot be counted. {CELEBA_TRAIN:,} images, the size of the "
        f"official training part, of {CELEBA_SIZE[0]} x {CELEBA_SIZE[1]} x 3 values (the resolution is taken from the "
        f"released program) take {text}. The paper does not say what is moderate; taken are computers of "
        f"{' and '.join(f'{memory / 1e9:.0f} GB' for memory in moderate)}: "
        f"{sum(exceeds)} of the {len(exceeds)} combinations do not fit."
    )
    return Answer(by_parts(exceeds), evidence)


def most_scalable() -> Answer:
    """L08: the most scalable fair PCA, all under one limit of memory and for as many images.

    The mean constraint alone must take fewer features, by more than a margin.
    """
    rows = full(IMAGES, dataset=MEMORY)
    most = images.carried_on(rows).set_index("method")["most features"]
    others = most.drop([STREAMED, STREAMED_MEAN]).sort_values(ascending=False)
    evidence = (
        f"Most features that {LIMIT / 1e9:.0f} GB allow for {CELEBA_TRAIN:,} images, from measured peaks carried on: "
        f"{STREAMED} {most[STREAMED]:,.0f}; {', '.join(f'{name} {value:,.0f}' for name, value in others.items())}. But "
        f"the mean constraint alone, in the same streamed form, takes {most[STREAMED_MEAN]:,.0f}: what scales is the "
        "product formed from batches, not this notion of fairness."
    )
    first = most[STREAMED] > others.iloc[0]
    alone = most[STREAMED] > rule("L08", "times as many features") * most[STREAMED_MEAN]
    return Answer(HOLDS if first and alone else IN_PART if first else NOT_SO, evidence)


def glasses_removed() -> Answer:
    """L09: the information on eyeglasses is removed, judged where rows of CelebA are stored (``on_celeba``).

    CelebA is not at hand here, so that no answer from the substitute is more than in part.
    """
    celeba = read_results(IMAGES, dataset=CELEBA)
    rows = celeba if len(celeba) else read_results(IMAGES, dataset=images.named(CELEBA_SIZE))
    settings = {method: some.set_index("metric")["value"] for method, some in rows.groupby("method")}
    if not {"PCA", SHOWN} <= set(settings):
        raise MissingNumbersError(f"PCA and {SHOWN} are not both stored.")
    before, after = settings["PCA"], settings[SHOWN]
    areas = [f"AUC ({reader})" for reader in metrics.READERS]
    text = ", ".join(
        f"of a {reader} classifier {before[area]:.3f} and {after[area]:.3f}"
        for reader, area in zip(metrics.READERS, areas, strict=True)
    )
    fell = [_fell(before[area], after[area]) for area in areas]
    if len(celeba):
        evidence = f"CelebA, area under the ROC curve on held-out images, before and after: {text}."
        return Answer(by_parts(fell), evidence)
    change, variance = "kept share of what glasses change", "explained variance ratio"
    evidence = (
        "CelebA is not available: its licence keeps it out of this project. On a substitute, synthetic portraits of "
        f"its size (d = {int(after['features']):,}) with glasses on {100 * after['share of glasses']:.1f} %, "
        f"{int(after['images in each phase']):,} images in each phase, k = {rows['k'].iloc[0]}, {SHOWN}: area under "
        f"the ROC curve on held-out images, before and after, {text}. Of the squared change that glasses make, PCA "
        f"keeps {100 * before[change]:.1f} %, the method {100 * after[change]:.1f} %; variance kept "
        f"{100 * before[variance]:.1f} % and {100 * after[variance]:.1f} %."
    )
    half = read_results(IMAGES, dataset=images.named(HALF), blocks=BLOCKS)
    if {"mean", SHOWN, PAIRED} <= set(half["method"]):
        value = 100 * half.set_index(["method", "metric"])["value"]
        evidence += (
            f" At half the height and width the mean constraint alone leaves {value['mean', change]:.1f} % of the "
            f"change, {SHOWN} leaves {value[SHOWN, change]:.1f} % and keeps {value[SHOWN, variance]:.1f} % of the "
            "variance; fitted to images that are all in both groups, so that chance differences of other things "
            f"cancel, it leaves {value[PAIRED, change]:.1f} % and keeps {value[PAIRED, variance]:.1f} %."
        )
    fell.append(_fell(before[change], after[change], chance=0.0))
    return Answer(IN_PART if any(fell) else NOT_SO, evidence)


def _fell(before: float, after: float, chance: float = 0.5) -> bool:
    return bool(after - chance < rule("L09", "left of what is read") * (before - chance))


#: By experiment: the functions that answer claims.
CLAIMS: Mapping[str, Mapping[str, Callable[[], Answer]]] = {
    EXPERIMENT: {
        "L01": theorems.equivalent_programs,
        "L02": theorems.defined_everywhere,
        "L03": learnable,
        "L04": sample_size,
        "L06": top_eigenvectors,
    },
    IMAGES: {"L05": little_memory, "L07": too_large_to_load, "L08": most_scalable, "L09": glasses_removed},
}
