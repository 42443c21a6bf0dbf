"""The list of experiments: ``experiments.yml`` read, checked and typed.

Every name and value a user can give on the command line is checked here, so that an error can say which
experiments, executions, parameters and values there are before anything runs.
"""

import contextlib
import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from evenspan.core.errors import ConfigurationError, RegistryError

from .paths import root

PROFILES = ("embedded", "full")
Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Text = Annotated[StrictStr, Field(min_length=1)]
Name = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Texts = Annotated[tuple[Text, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given or [])]

_TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


class Entry(BaseModel):
    """A part of the list: it cannot be changed, and an unknown field is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


TIMING = "timing"


class NotATest(Entry):
    """Printed numbers that cannot tell methods apart: why, and which."""

    because: Literal["used to set up the data", "data found by search", "timing"]
    reason: Text
    dataset: Text | None = None
    method: Text | None = None
    metric: Text | None = None


class Procedure(Entry):
    """Another procedure than the paper describes, by which a printed column may have been computed.

    ``rows`` are the methods of ours that carry it out; they may belong to another ``experiment``. Where the rows of the
    printed name are this procedure's, because the released program departs from the paper, ``described`` is our method
    as the paper describes it.
    """

    name: Text
    method: Text
    dataset: Text | None = None
    rows: Text
    experiment: Text | None = None
    described: Text | None = None


class Experiment(Entry):
    """One entry of ``experiments.yml``, whose head says what the fields mean; ``id`` is its name in every path."""

    id: Name
    title: Text
    paper: Text
    notebook: Annotated[StrictStr, Field(pattern=r"^notebooks/[A-Za-z0-9_/-]+\.ipynb$")]
    parameters: dict[Name, Scalar]
    choices: dict[Name, Annotated[tuple[Scalar, ...], Field(min_length=1)]] = {}
    executions: Annotated[dict[Name, dict[Name, Scalar]], Field(min_length=1)]
    without_page: dict[Name, dict[Name, Scalar]] = {}
    published: Texts = ()
    published_datasets: dict[Text, Annotated[Texts, Field(min_length=1)]] = {}
    published_protocols: dict[StrictStr, StrictStr] = {"": "released"}
    stand_ins: dict[Text, Text] = {}
    splits: Literal["", "authors", "own"] = ""
    repetitions: Annotated[StrictInt, Field(ge=1)] | None = None
    not_a_test: tuple[NotATest, ...] = ()
    procedures: tuple[Procedure, ...] = ()
    files: StrictStr = ""

    @model_validator(mode="after")
    def _belongs_together(self) -> "Experiment":
        if "profile" in self.parameters:
            raise ValueError("parameters: every notebook has 'profile'; take it out")
        if strange := [name for name in self.choices if name not in self.parameters]:
            raise ValueError(f"choices: {listed(strange)} is none of the parameters {listed(self.parameters)}")
        if strange := [name for name in self.stand_ins if name not in self.published_datasets]:
            raise ValueError(f"stand_ins: {listed(strange)} is none of the data sets in published_datasets")
        if self.repetitions and not self.splits:
            raise ValueError("repetitions: needs 'splits' beside it")
        for one in (*self.not_a_test, *self.procedures):
            if one.dataset is not None and one.dataset not in self.published_datasets:
                raise ValueError(f"{one.dataset!r} is none of the data sets in published_datasets")
        complete = [self.complete(given) for given in self.runs.values()]
        if any(one in complete[:place] for place, one in enumerate(complete)):
            raise ValueError("executions: needs different parameters in each execution")
        return self

    @property
    def runs(self) -> dict[str, dict[str, Scalar]]:
        """All runs of the full profile: those of the pages, and those without a page."""
        return self.executions | self.without_page

    @property
    def room(self) -> str:
        """The folder of the notebook: that of its paper, as below ``compendium.papers``."""
        return Path(self.notebook).parent.name

    def convert(self, name: str, text: str) -> Scalar:
        """The value that ``-p name text`` means: the type is that of the default; the text is never evaluated."""
        kind, value = type(self._default(name)), text
        if kind is bool:
            value = {"true": True, "false": False}.get(text.lower(), text)
        elif kind is float or (kind is int and re.fullmatch(r"[+-]?\d+", text)):
            with contextlib.suppress(ValueError):
                value = kind(text)
        return self._checked(name, value)

    def complete(self, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """All parameters of the notebook but for the profile, checked: those that are not given have their defaults."""
        defaults = {name: self._checked(name, value) for name, value in self.parameters.items()}
        return defaults | {name: self._checked(name, value) for name, value in given.items()}

    def arguments(
        self, execution: str | None = None, profile: str = "embedded", given: Iterable[tuple[str, str]] = ()
    ) -> dict[str, Scalar]:
        """Parameters of one run, ``profile`` among them: those of an execution, and what was given as text."""
        if profile not in PROFILES:
            raise ConfigurationError(f"There is no profile {profile!r}; the profiles are {listed(PROFILES)}.")
        values = self.execution(execution) if execution is not None else dict(self.parameters)
        own: dict[str, Scalar] = {}
        for name, text in given:
            if name in own:
                raise ConfigurationError(f"{self.id}: parameter {name!r} is given twice; give it once.")
            own[name] = self.convert(name, text)
        return values | own | {"profile": profile}

    def execution(self, name: str) -> dict[str, Scalar]:
        """The complete parameters of one execution."""
        if name not in self.runs:
            raise RegistryError(
                f"{self.id} has no execution {name!r}; its executions are {listed(self.runs)}. "
                "Other settings are given with -p NAME VALUE."
            )
        return dict(self.parameters) | self.runs[name]

    def execution_for(self, values: Mapping[str, object]) -> str | None:
        """The execution that agrees with ``values`` in all of its parameters, or None."""
        return next((name for name in self.runs if self.execution(name).items() <= values.items()), None)

    def _default(self, name: str) -> Scalar:
        if name not in self.parameters:
            known = listed(f"{key} (default {value})" for key, value in self.parameters.items())
            raise RegistryError(f"{self.id} has no parameter {name!r}; its parameters are {known or 'none'}.")
        return self.parameters[name]

    def _checked(self, name: str, value: object) -> Scalar:
        kind = type(self._default(name))
        if kind is float and type(value) is int:
            value = float(value)
        if kind is str and type(value) in (int, float):  # papermill reads 20 as a number
            value = f"{value}"
        if type(value) is not kind or (kind is float and not math.isfinite(value)):
            offer = f" ({listed(self.choices[name])})" if name in self.choices else ""
            raise ConfigurationError(
                f"{self.id}: parameter {name!r} needs {_TYPE_NAMES[kind]}{offer}, but got {value!r}."
            )
        if name in self.choices and value not in self.choices[name]:
            raise ConfigurationError(
                f"{self.id}: parameter {name!r} cannot be {value!r}; it can be {listed(self.choices[name])}."
            )
        return value


def catalogue() -> dict[str, Experiment]:
    """All experiments, in the order of ``experiments.yml``."""
    path = root() / "experiments.yml"
    return dict(_catalogue(path.name, path.read_bytes()))


def experiment(name: str) -> Experiment:
    """One experiment by its name."""
    known = catalogue()
    if name not in known:
        raise RegistryError(f"There is no experiment {name!r}; the experiments are {listed(known)}.")
    return known[name]


def task_id(task: Mapping[str, object]) -> str:
    """A stable file name for the parameters of a unit: ``adult-k10-fair_pca``.

    Texts stand alone, everything else with its name, in the order in which the unit gives them.

    >>> task_id({"dataset": "adult", "k": 10, "method": "Fair PCA-S (0.85)"})
    'adult-k10-fair_pca_s_0.85'
    """
    words = [value if isinstance(value, str) and value else f"{name}{value}" for name, value in task.items()]
    slugs = [re.sub(r"[^a-z0-9.]+", "_", word.lower()).strip("_.") for word in words]
    if not slugs or not all(slugs):
        raise RegistryError(f"The unit {dict(task)} has a parameter without letters or digits; a file cannot be named.")
    return "-".join(slugs)


def listed(names: Iterable) -> str:
    """Names for a message, separated by commas."""
    return ", ".join(str(name) for name in names)


@lru_cache(maxsize=4)
def _catalogue(name: str, content: bytes) -> Mapping[str, Experiment]:
    try:
        entries = dict(yaml.load(content.decode(), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise RegistryError(f"{name} is no mapping of experiment names to entries: {error}. Correct it.") from error
    found = {}
    for key, entry in entries.items():
        try:
            found[key] = Experiment.model_validate({"id": key, **entry})
        except ValidationError as error:
            raise RegistryError(f"{name}, {key}: {said(error)}. Correct it there.") from None
        except (ConfigurationError, RegistryError) as error:
            raise type(error)(f"{name}, {key}: {error}") from None
    return found


def said(error: ValidationError) -> str:
    """What is wrong with what was read, field by field, in one line."""
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']} ({one['input']!r})" for one in error.errors())
