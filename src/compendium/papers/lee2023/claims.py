"""Claims of Lee et al. (2023), answered from stored runs by the rules in ``data/tolerances.yml``."""

import pandas as pd

from ...claim_rules import FIRST, IN_PART, PART, SECOND, Answer, Outcome, Rows, by_parts, by_truth, rule, unjudged
from ...data.portraits import CELEBA_SIZE, CELEBA_TRAIN
from ...store import MissingNumbersError, full
from . import images
from .protocol import ABSOLUTE, BOTH, EXACT, FACTORS, GIVEN, ORDERS, SIGNED, order_name
from .readings import BEYOND, growth_table, slopes_beyond, special_table

LEARNABILITY, IMAGES, SEARCHES = "lee2023-learnability", "lee2023-images", "lee2023-theorems"
MAIN = "gap-controlled"


def equivalent_programs(rows: Rows) -> Answer:
    """L01: the constrained maximiser against maximisers of the projected objective, by the rank of the latter."""
    rounding, same = rule("L01", "rounding"), rule("L01", "same subspace")
    ranks = ["rank of k", "smaller rank"]
    found = rows(SEARCHES, "method", protocol="L01", method=ranks)
    wide = found.pivot(index=["method", "split"], columns="metric", values="value")
    known, rest = (wide.loc[name] for name in ranks)
    angle, control = known["angle of the maximisers"].max(), known["angle, control"].min()
    agree = angle <= same < control and known["difference of the values"].max() <= rounding
    rivals = wide["|U'V| of the rival"][wide["value lost by the rival"] <= rounding] > same
    numbers = {
        "largest angle of the maximisers, rank k": angle,
        "smallest angle, one removed direction left in": control,
        "smaller rank, another maximiser in the removed directions": f"{rivals.sum()} of {len(rest)}",
    }
    return Answer(by_truth(agree and not rivals.any(), agree), numbers)


def defined_everywhere(rows: Rows) -> Answer:
    """L02: for all k and m below d, whether any projection is feasible, and how unfair the fairest one has to be."""
    tried = rows(SEARCHES, protocol="L02")
    wide = tried.pivot(index=["dataset", "k", "split", "method"], columns="metric", values="value")
    room = wide.index.get_level_values("method") == "room for k"
    solved, none = wide["|U'V| of the solver"] < rule("L02", "feasible"), wide[~room]
    numbers = {
        "pairs (k, m) without a feasible projection": f"{len(none)} of {len(wide)}",
        "smallest |U'V| there": none["smallest |U'V|"].min(),
        "pairs with one that was not found": int((solved != room).sum()),
    }
    return Answer(by_truth(room.all() and solved.all()), numbers)


def equal_means(rows: Rows) -> Answer:
    """Of L03, with g = 0: whether the loss of the algorithm as printed falls when its blocks grow.

    The algorithm appends the normalised estimate of g in any case. The control leaves it out, and has to learn."""
    loss = rows(SEARCHES, protocol="L03").groupby(["method", "block"])["value"].median().unstack()
    learns = loss.iloc[:, -1] <= rule("L03", "loss left") * loss.iloc[:, 0]
    numbers = {f"loss with equal means, {name}, small and large blocks": tuple(line) for name, line in loss.T.items()}
    return Answer(by_truth(learns.all()), numbers)


def learnable(rows: Rows) -> Answer:
    """L03: the rates on a population with a mean gap, and whether the loss falls at all without one (g = 0)."""
    found, without = rates(rows), equal_means(rows)
    numbers = {**found.numbers, **without.numbers}
    return Answer(found.described if found.described == without.described else IN_PART, numbers)


def _slopes(runs: pd.DataFrame, lines: list[tuple[str, str]]) -> pd.DataFrame:
    """Slopes of some experiments and measures on the population with prescribed gaps; refuses where one is unknown."""
    table = slopes_beyond(runs).reindex([(MAIN, *line) for line in lines]).loc[MAIN]
    if unknown := [", ".join(line) for line in lines if table.loc[line, ["slope", "low", "high"]].isna().any()]:
        raise MissingNumbersError(f"two sizes from {BEYOND} rows on for the slope of {'; '.join(unknown)}")
    return table


def rates(rows: Rows) -> Answer:
    """Of L03: both gaps fall with the samples, at the rates of the theory, on the population with prescribed gaps."""
    lines = [(EXACT, "eps_f"), (BOTH, "eps_f"), (GIVEN, "eps_o"), (BOTH, "eps_o")]
    table, done, numbers = _slopes(rows(LEARNABILITY, protocol="slopes", dataset=MAIN), lines), [], {}
    for metric, experiment in (("eps_f", EXACT), ("eps_o", GIVEN)):
        lowest, highest = (rule("L03", f"slope of {metric}, {end}") for end in ("lowest", "highest"))
        done.append(lowest <= table.loc[(experiment, metric), "slope"] <= highest)
        done.append(table.loc[(BOTH, metric), "high"] < 0.0)
        for which in (experiment, BOTH):
            line = table.loc[(which, metric), ["slope", "low", "high"]]
            numbers[f"slope and interval, {which}, {metric}"] = tuple(line.astype(float))
    return Answer(by_parts(done), numbers)


def sample_size(rows: Rows) -> Answer:
    """L04: whether the rows needed grow with no factor faster than the bound does.

    Where a gap gets smaller, the blocks of its phase are made more in proportion: one power of the exponent."""
    runs = rows(LEARNABILITY, "protocol", protocol=["slopes", *(f"growth in {name}" for name in FACTORS)])
    fitted, table = _slopes(runs, [(EXACT, "eps_f"), (GIVEN, "eps_o")]), growth_table(runs)
    bound, room = rule("L04", "exponent of 1/eps"), rule("L04", "tolerance")
    lowest = {name: -1.0 / fitted.loc[(which, name), "low"] for which, name in ((EXACT, "eps_f"), (GIVEN, "eps_o"))}
    unknown = table[table["bound"].notna() & table[["low", "high"]].isna().any(axis=1)]
    if len(unknown):
        raise MissingNumbersError(f"two levels and sizes for the exponent of {', '.join(unknown['factor'].unique())}")
    verdicts = [0.0 < value <= bound + room for value in lowest.values()]
    verdicts += [answer == "yes" for answer in table["consistent"] if answer != "–"]
    numbers = {f"lowest exponent and bound, 1/{name}": (value, bound) for name, value in lowest.items()}
    return Answer(by_parts(verdicts), {"not faster than the bound": f"{sum(verdicts)} of {len(verdicts)}"} | numbers)


def _sines(rows: Rows) -> pd.DataFrame:
    """Median sine of the angle to the eigenvectors by either reading of "top", a line for each case."""
    cases, protocol = [order_name(*case) for case in ORDERS], "order of eigenvalues"
    found = special_table(rows(LEARNABILITY, "dataset", protocol=protocol, dataset=cases), protocol)
    wide = found.pivot(index="dataset", columns="metric", values="median")
    return wide.loc[cases, [SIGNED, ABSOLUTE]]


def top_eigenvectors(rows: Rows) -> Answer:
    """L06: the eigenvectors of the largest eigenvalues, or of those largest in absolute value."""
    sines = _sines(rows)
    numbers = {f"sines to the largest, signed and absolute, {name}": tuple(line) for name, line in sines.T.items()}
    return Answer(by_truth(*(sines < rule("L06", "found")).all()), numbers)


def order_of_eigenvectors() -> Outcome:
    """X18: which m eigenvectors the power iteration finds where the two readings differ."""
    found = _sines(full) < rule("L06", "found")
    differ = found[found[SIGNED] != found[ABSOLUTE]]
    absolute = int(differ[ABSOLUTE].sum())
    outcome = SECOND if len(differ) and absolute == len(differ) else PART if absolute else FIRST
    counted = f"{absolute} of {len(differ)}"
    return outcome, {
        **top_eigenvectors(full).numbers,
        "the largest in absolute value, where the readings differ": counted,
    }


def little_memory(rows: Rows) -> Answer:
    """L05: o(d^2) memory."""
    some, slope, units = images.largest_runs(rows(IMAGES, dataset=images.MEMORY, method=images.STREAMED))
    numbers = {
        "features d": int(some["d"].iloc[-1]),
        "peak, GB": some["value"].iloc[-1] / 1e9,
        "peak over 4 d (k + m + q) bytes": units,
        "power of d with which the peak grows": slope,
    }
    linear = abs(slope - 1.0) < rule("L05", "exponent")
    return Answer(by_truth(linear and units <= rule("L05", "times the state"), linear), numbers)


def too_large_to_load(_: Rows) -> Answer:
    """L07: the images cannot be loaded on a moderate-sized computer; the resolution is that of the released program."""
    moderate = rule("L07", "small computer, bytes"), rule("L07", "large computer, bytes")
    values = CELEBA_TRAIN * 3 * CELEBA_SIZE[0] * CELEBA_SIZE[1]
    needed = {"GB as single bytes": values, "GB as 32-bit numbers": 4 * values}
    exceeds = [size > memory for size in needed.values() for memory in moderate]
    numbers = {name: size / 1e9 for name, size in needed.items()}
    numbers |= {"moderate computers, GB": tuple(memory / 1e9 for memory in moderate)}
    numbers |= {"combinations that do not fit": f"{sum(exceeds)} of {len(exceeds)}"}
    return Answer(None, numbers)


def most_scalable(rows: Rows) -> Answer:
    """L08: the most scalable fair PCA, all under one limit of memory and for as many images.

    The mean constraint alone must take clearly fewer features, or what scales is the product formed from batches."""
    most = images.carried_on(rows(IMAGES, dataset=images.MEMORY)).set_index("method")["most features"]
    if missing := {*images.METHODS} - {*most.index}:
        raise MissingNumbersError(f"no size at which {' and '.join(sorted(missing))} ended")
    streamed, mean = most[images.STREAMED], most[images.STREAMED_MEAN]
    first = streamed > most.drop([images.STREAMED, images.STREAMED_MEAN]).max()
    alone = streamed > rule("L08", "times as many features") * mean
    numbers = {f"most features in {images.LIMIT / 1e9:.0f} GB, {name}": round(value) for name, value in most.items()}
    return Answer(by_truth(first and alone, first), numbers)


CLAIMS = {
    LEARNABILITY: {
        "L03": learnable,
        "L04": unjudged(
            "printed as a lower bound (Omega), which other methods alone could break; read as an upper bound it has no "
            "constant, and sizes that grow more slowly do not break it",
            sample_size,
        ),
        "L06": top_eigenvectors,
    },
    SEARCHES: {"L01": equivalent_programs, "L02": defined_everywhere},
    IMAGES: {
        "L05": little_memory,
        "L07": unjudged("arithmetic with sizes of memory that are ours; the paper names none", too_large_to_load),
        "L08": most_scalable,
        "L09": unjudged("CelebA is unavailable: its licence keeps it out of this project"),
    },
}
CONTRADICTIONS = {"X18": order_of_eigenvectors}
