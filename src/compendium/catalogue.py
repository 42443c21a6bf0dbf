"""The list of experiments: ``experiments.yml`` read, checked and typed."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
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
    TypeAdapter,
    ValidationError,
)

from evenspan.core.errors import ConfigurationError

from . import data as datasets
from .errors import RegistryError, did_you_mean
from .paths import read, resolve_user_path, root

PROFILES = ("embedded", "full")
#: A run that lists its units and computes none of them.
PLAN = "plan"
TIMING = "timing"
Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given or [])]
#: A parameter may be given as text; papermill reads 20 as a number where a text is needed.
_GIVEN = ConfigDict(coerce_numbers_to_str=True, allow_inf_nan=False)


class Entry(BaseModel):
    """A part of the list: it cannot be changed, and an unknown field is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NotATest(Entry):
    """Printed numbers that cannot tell methods apart: why, and which."""

    because: Literal["used to set up the data", "data found by search", "timing"]
    reason: str
    dataset: str | None = None
    method: str | None = None
    metric: str | None = None


class Procedure(Entry):
    """Another procedure than the paper describes, by which a printed column may have been computed."""

    name: str
    method: str
    dataset: str | None = None
    #: The method of ours that carries it out.
    rows: str
    #: Our method as the paper describes it, where the rows of the printed name are another procedure's.
    described: str | None = None
    #: What of the procedure was chosen by the numbers that it explains.
    chosen: str = ""


class Experiment(Entry):
    """One entry of ``experiments.yml``, whose head says what the fields mean; ``id`` is its name in every path."""

    id: str
    title: str
    paper: str
    notebook: str
    parameters: dict[str, Scalar]
    choices: dict[str, tuple[Scalar, ...]] = {}
    executions: dict[str, dict[str, Scalar]]
    without_page: dict[str, dict[str, Scalar]] = {}
    small: dict[str, dict[str, Scalar]] = {}
    published: Texts = ()
    published_datasets: dict[str, Texts] = {}
    published_protocols: dict[str, str] = {"": "released"}
    stand_ins: dict[str, str] = {}
    evaluation: str = ""
    not_a_test: tuple[NotATest, ...] = ()
    procedures: tuple[Procedure, ...] = ()
    files: str = ""
    stands_on: str = ""

    def described(self, methods: Iterable[str], dataset: str | None = None) -> dict[str, str]:
        """The method of ours that is as the paper describes it, by the printed name of each."""
        found = dict(zip(methods, methods, strict=True))
        for one in reversed(self.procedures):
            if one.described and one.method in found and one.dataset in (None, dataset):
                found[one.method] = one.described
        return found

    @property
    def page(self) -> str:
        """The page of the book that shows it."""
        return self.stands_on or f"experiments/{self.id}"

    def place(self, *names: str) -> str:
        """The name on its page of an execution, or of what has a name there; the top of a page of its own has none."""
        execution, *rest = names or ("",)
        several = execution if len(self.executions) > 1 else ""
        return "-".join(filter(None, [self.id if self.stands_on else "", several, *rest]))

    @property
    def runs(self) -> dict[str, dict[str, Scalar]]:
        """All runs of the full profile: those of the pages, those without a page, and small ones."""
        return self.executions | self.without_page | self.small

    @property
    def room(self) -> str:
        """The folder of the notebook: that of its paper, as below ``compendium.papers``."""
        return Path(self.notebook).parent.name

    def complete(self, given: Mapping[str, object]) -> dict[str, Scalar]:
        """All parameters of the notebook but for the profile: those given, perhaps as text, checked, and defaults."""
        return self.parameters | {name: self._checked(name, value) for name, value in given.items()}

    def arguments(
        self, execution: str | None = None, profile="embedded", given: Mapping = MappingProxyType({})
    ) -> dict:
        """Parameters of one run, ``profile`` among them: those of an execution, and what was given."""
        if profile not in (*PROFILES, PLAN):
            raise ConfigurationError(f"There is no profile {profile!r}; the profiles are {', '.join(PROFILES)}.")
        return self.complete((self.execution(execution) if execution else {}) | dict(given)) | {"profile": profile}

    def execution(self, name: str) -> dict[str, Scalar]:
        """The complete parameters of one execution."""
        if name not in self.runs:
            raise RegistryError(f"{self.id} has no execution {name!r}; its executions are {', '.join(self.runs)}.")
        return self.parameters | self.runs[name]

    def execution_for(self, values: Mapping[str, object]) -> str | None:
        """The execution that agrees with ``values`` in all of its parameters, or None."""
        return next((name for name in self.runs if self.execution(name).items() <= values.items()), None)

    def _checked(self, name: str, value: object) -> Scalar:
        if name not in self.parameters:
            known = ", ".join(f"{key} (default {default})" for key, default in self.parameters.items())
            near = did_you_mean(name, self.parameters)
            raise RegistryError(f"{self.id} has no parameter {name!r}; its parameters are {known}. {near}".rstrip())
        try:
            value = TypeAdapter(type(self.parameters[name]), config=_GIVEN).validate_python(value)
        except ValidationError as error:
            why = error.errors()[0]["msg"]
            raise ConfigurationError(f"{self.id}: parameter {name!r} is {value!r}. {why}.") from None
        if name in self.choices and value not in self.choices[name]:
            known = ", ".join(map(str, self.choices[name]))
            raise ConfigurationError(f"{self.id}: parameter {name!r} cannot be {value!r}; it can be {known}.")
        if name != "seed" and type(value) is int and value < 1 <= self.parameters[name]:
            raise ConfigurationError(f"{self.id}: parameter {name!r} is {value}; needed is 1 or more.")
        if name == "dataset" and not resolve_user_path(value).is_file():
            known = {*datasets.names(), *datasets.clusterings(), *(run.get(name) for run in self.runs.values())}
            if value not in known and (near := did_you_mean(value, known)):
                raise RegistryError(f"{self.id}: there is no data set {value!r}, and no file of this name. {near}")
        return value


def catalogue() -> dict[str, Experiment]:
    """All experiments, in the order of ``experiments.yml``."""
    return dict(read(root() / "experiments.yml", _catalogue))


def experiment(name: str) -> Experiment:
    """One experiment by its name."""
    known = catalogue()
    if name not in known:
        near = did_you_mean(name, known) or f"The experiments are {', '.join(known)}."
        raise RegistryError(f"There is no experiment {name!r}. {near}")
    return known[name]


def task_id(task: Mapping[str, object]) -> str:
    """A stable file name for a unit, such as ``adult-k10-fair_pca_s_0.85``: numbers stand with their parameter."""
    words = [value if isinstance(value, str) and value else f"{name}{value}" for name, value in task.items()]
    slugs = [re.sub(r"[^a-z0-9.]+", "_", word.lower()).strip("_.") for word in words]
    if not slugs or not all(slugs):
        raise RegistryError(f"The unit {dict(task)} has a parameter without letters or digits; a file cannot be named.")
    return "-".join(slugs)


@lru_cache(maxsize=4)
def _catalogue(content: bytes) -> Mapping[str, Experiment]:
    entries = yaml.load(content, Loader=yaml.CSafeLoader)
    return TypeAdapter(Annotated[dict[str, Experiment], Field(min_length=1)]).validate_python(
        {name: entry | {"id": name} for name, entry in entries.items()}
    )
