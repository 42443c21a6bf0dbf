"""What in a table may be meant otherwise than it is read: said with columns, values and counts, and never acted on.

A doubt rests on names and values that hardly ever occur by chance, and names the option that settles it.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..core.inputs import first_few
from .columns import ColumnUse, coded, numbers, text_of

#: Numbers that surveys and programs write for no answer: 8, 77, 999, 98, 999.9, -1, the ends of whole numbers.
_NO_ANSWER = re.compile(r"-?(([6-9])\2*|9+[4-8])(\.9+)?|-[1-5]|2147483647|-2147483648|32767|-32768")
#: Names of columns of codes: what their last words are, and words that are such names by themselves only.
_CODE = re.compile(
    "(?:(.* )?(zip|zip ?code|post ?code|postal|plz|(state|county)?fips?|county|puma|tract|msa|cbsa|naics|sic|isco|isic|"
    "nace|occp?|occupation|industry|indp|pobp|country|municipality|region|codes?|cd)"
    "|state|province|district|city|town|sector|iso|soc)( id| no| nr| num| number| numeric| n| p| digits?)?"
)
#: Names of survey weights, and of columns beside which "weight" is that of a body.
_SURVEY = "survey|sample|sampling|person|people|household|hh|final|design|post|trim|trimmed|norm|raked|pop|base|yr"
_WEIGHT = re.compile(
    "(.* )?([adfinpqswx]|per|hh|asec|fnl|final|llcp|earn|psp|samp|pop|an)(wgt|wght|wt|weight)s?p?( .*)?"
    f"|(({_SURVEY}) )*(weights?|wts?|wgt[sp]?|wght|w(?= )|wt(ss|ssall|finl|int|mec))( ({_SURVEY}))*"
)
_BODY = re.compile("(.* )?(height|ht|bmi|waist|stature)( .*)?")
#: What is said of columns that are likely weights.
WEIGHTS = (
    "{} may be weights (how many people a row stands for): a feature unless --weights (weights= in Python) names it, "
    "or --exclude leaves it out"
)


def doubts(frame: pd.DataFrame, uses: Mapping[str, ColumnUse], features: list[str], labels: list[str]) -> list[str]:
    """Sentences about the columns of a table; ``labels`` are the sensitive columns and the target."""
    used = [name for name in features if uses[name].used == "number"]
    looked_at = [name for name in [*labels, *used] if uses[name].kind == "numeric"]
    codes = {name: found for name in looked_at if (found := answer_codes(numbers("number", frame[name])))}
    told = [one for name in labels if uses[name].used != "target (number)" and (one := _alike(frame[name]))]
    if codes:
        has = {name: ", ".join(f"{code} ({n:,})" for code, n in found.items()) for name, found in codes.items()}
        what = first_few(f"{name!r} has {found}" for name, found in has.items())
        settled = "; ".join(f"{name}={','.join(found)}" for name, found in codes.items())
        remedy = f"--missing-codes '{settled}' (missing_codes in Python) makes them missing"
        told.append(f"likely codes for no answer, used as they are: {what}; {remedy}")
    # The words of each name, without digits: of StateFIPS_2 state and fips.
    parts = {name: re.sub("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower() for name in frame}
    parts = {name: " ".join(re.findall(r"[^\W\d_]+", words)) for name, words in parts.items()}
    places = [name for name in used if uses[name].distinct > 2 and _CODE.fullmatch(parts[name])]
    if places := [name for name in places if (frame[name].dropna() % 1 == 0).all()]:
        what = first_few(f"{name!r} ({uses[name].distinct:,} values)" for name in places)
        remedy = "--exclude leaves them out; in a data frame, astype(str) makes them categories"
        told.append(f"likely codes of places or industries, used as quantities: {what}; {remedy}")
    body = any(map(_BODY.fullmatch, parts.values()))
    weights = [name for name in used if _WEIGHT.fullmatch(parts[name]) and (frame[name].dropna() >= 0).all()]
    if weights := [name for name in weights if not body or parts[name] not in ("weight", "weights", "wt", "wgt")]:
        told.append(WEIGHTS.format(first_few(map(repr, weights))))
    return told


def answer_codes(values: np.ndarray) -> dict[str, int]:
    """The values of a column of numbers that may stand for no answer, with how often they occur."""
    finite, found = values[np.isfinite(values)], {}
    ends = [finite.min(axis=0), finite.max(axis=0), finite[finite > 0].min(initial=np.inf)]
    if not any(_NO_ANSWER.fullmatch(text_of(end)) for end in ends):
        return {}
    u, counts = np.unique(finite, return_counts=True)
    for sign, least in ((1, -np.inf), (1, 0.0), (-1, -np.inf)):  # from below, from below what is positive, from above
        at = np.flatnonzero(u > least)[::sign]
        first = np.sort(at[: _outlying(sign * u[at], counts[at], sign)])
        found |= {text_of(u[j]): int(counts[j]) for j in first}
        u, counts = np.delete(u, first), np.delete(counts, first)
    return found


def _outlying(u: np.ndarray, counts: np.ndarray, sign: int) -> int:
    """How many of the first values, of which the outermost is the first, are codes behind a gap that is not by chance.

    Of log-concave counts one between a and b is at least sqrt(ab).
    """
    most = next((i for i, value in enumerate(u) if not _NO_ANSWER.fullmatch(text_of(sign * value))), 0)
    for i in range(min(most, len(u) - 2), 0, -1):
        code, rest, near, n = sign * u[i - 1], u[i:], counts[i : i + 10], counts[:i].max(axis=0)
        gap, step, digits = rest[0] - u[i - 1], np.diff(rest[:10]).max(axis=0), len(str(int(abs(code))))
        ab, whole, positive = n * near[0], (rest % 1 == 0).all(), rest[0] >= 0
        often = ab >= 25 or n >= max(5, 3 * near.max(axis=0)) or (gap >= np.ptp(rest) and n >= (3 if digits < 3 else 1))
        if sign > 0 and code > 0:  # below numbers that are larger by far
            apart = digits > 1 and rest[0] >= 5 * code
        elif sign > 0:  # negative, most often below numbers that are not
            beside = whole and gap >= 2 * step and ab >= 100
            apart, often = gap > 3 * step or (positive and (code <= -6 or beside)), often or (positive and digits > 2)
        elif digits == 1:  # above a scale from 0 or 1
            scale = whole and step == 1 and rest[-1] in (0, -1) and np.ptp(rest) == len(rest) - 1
            apart, often = scale and (gap > 2 or (code == 9 and gap == 2)), ab >= (25 if gap > 2 else 100)
        else:
            apart = gap > 3 * step or (digits > 3 and n >= max(10, 5 * near.max(axis=0)))
        if apart and often:
            return i
    return 0


def _alike(series: pd.Series) -> str:
    """Names of groups that a reader may take for one; empty if there are none."""
    (codes, labels), alike = coded(series), defaultdict(list)
    for label, n in zip(labels, np.bincount(codes[codes >= 0], minlength=len(labels)), strict=True):
        seen = unicodedata.normalize("NFKC", label)
        text = " ".join("".join(c for c in seen if unicodedata.category(c) != "Cf").casefold().split()).strip(".\"'")
        text = text_of(float(text)) if re.fullmatch(r"-?\d+\.?\d*", text) else text
        alike[text].append(f"{label!r} ({n:,})" if seen == label else f"{label!a} ({n:,})")
    told = [" and ".join(names) for names in alike.values() if len(names) > 1]
    how = "differ only in case, blanks, marks around them, Unicode form, or as number and text"
    what = f"names of groups of {series.name} that {how}: {first_few(told)}; write alike what is one group"
    return what if told else ""
