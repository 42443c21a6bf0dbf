"""What an entry of ``experiments.yml`` may hold, and what the parameters of an experiment may be."""

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import yaml

from evenspan.core.errors import ConfigurationError, RegistryError

PROFILES = ("embedded", "full")
Scalar = bool | int | float | str

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


class StrictLoader(yaml.SafeLoader):
    """YAML in which a key given twice is an error: the parser would silently keep the last."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=deep)
            if key in seen:
                raise RegistryError(f"experiments.yml: {key!r} is given twice (line {key_node.start_mark.line + 1}).")
            seen.add(key)
        return super().construct_mapping(node, deep)


_REQUIRED = ("title", "paper", "module", "notebook", "parameters", "executions", "profiles")
_OPTIONAL = {
    "choices": {},
    "published": None,
    "published_datasets": {},
    "published_protocols": {"": "released"},
    "stand_ins": {},
    "splits": "",
    "repetitions": None,
    "evidence": [],
    "files": "",
}
#: Whose splits or starts the means of an experiment are over; blank: each number comes once, from all data.
_SPLITS = ("", "authors", "own")
#: What may be declared of numbers that are no free evidence, and what may say of which numbers.
_DECLARED = ("calibration", "selected", "measured time")
_PLACES = ("dataset", "method", "metric")


def fields_of(name: str, entry: object) -> dict[str, object]:
    """The fields of one entry, each checked; a mistake names the entry and the field."""

    def fault(field: str, saw: object, needed: str) -> RegistryError:
        return RegistryError(f"experiments.yml, {name}, {field}: needs {needed}, but holds {saw!r}. Correct it there.")

    if not _NAME.fullmatch(name):
        raise RegistryError(f"experiments.yml: {name!r} cannot name an experiment; use letters, digits, '.', '_', '-'.")
    if not isinstance(entry, dict):
        raise fault("the entry", entry, "a mapping")
    unknown = [key for key in entry if key not in _REQUIRED and key not in _OPTIONAL]
    if unknown:
        valid = [*_REQUIRED, *_OPTIONAL]
        raise RegistryError(
            f"experiments.yml, {name}: unknown field {listed(unknown)}; the fields are {listed(valid)}."
        )
    missing = [key for key in _REQUIRED if key not in entry]
    if missing:
        raise RegistryError(f"experiments.yml, {name}: the field {listed(missing)} is missing. Add it there.")
    values = _OPTIONAL | entry

    for field in ("title", "paper", "module", "notebook"):
        if not isinstance(values[field], str) or not values[field]:
            raise fault(field, values[field], "a text")
    tables = _texts([] if values["published"] is None else values["published"])
    if tables is None:
        raise fault("published", values["published"], "the name of a published table, a list of names or null")
    for field in (
        "parameters",
        "choices",
        "executions",
        "profiles",
        "published_datasets",
        "published_protocols",
        "stand_ins",
    ):
        if not isinstance(values[field], dict) or not all(isinstance(key, str) for key in values[field]):
            raise fault(field, values[field], "a mapping with names as keys")
    datasets = {key: _texts(value) for key, value in values["published_datasets"].items()}
    if not all(datasets.values()):
        raise fault("published_datasets", values["published_datasets"], "a mapping of text to text or to a list of it")
    if not all(isinstance(value, str) for value in values["published_protocols"].values()):
        raise fault("published_protocols", values["published_protocols"], "a mapping of text to text")
    for key, value in values["stand_ins"].items():
        if key not in datasets or not isinstance(value, str) or not value:
            raise fault("stand_ins", {key: value}, "a text for a data set in 'published_datasets'")
    if values["splits"] not in _SPLITS:
        raise fault("splits", values["splits"], "authors or own")
    repeated = values["repetitions"]
    if repeated is not None and (type(repeated) is not int or repeated < 1 or not values["splits"]):
        raise fault("repetitions", repeated, "a whole number of at least 1 beside 'splits'")
    if not isinstance(values["files"], str):
        raise fault("files", values["files"], "the name of a parameter of its tasks")
    declared = values["evidence"]
    if not isinstance(declared, list) or not all(isinstance(one, dict) for one in declared):
        raise fault("evidence", declared, "a list of mappings")
    for one in declared:
        texts = all(isinstance(text, str) and text for text in one.values())
        known = {"kind", "reason"} <= set(one) <= {"kind", "reason", *_PLACES} and one["kind"] in _DECLARED
        if not texts or not known or one.get("dataset", next(iter(datasets), None)) not in datasets:
            raise fault("evidence", one, f"kind ({listed(_DECLARED)}), reason and perhaps a known {listed(_PLACES)}")
    for key, value in values["parameters"].items():
        if not _NAME.fullmatch(key) or key == "profile" or type(value) not in _TYPE_NAMES:
            raise fault(
                "parameters", {key: value}, "plain names (not 'profile') with a text, number, true or false each"
            )
    for key, value in values["choices"].items():
        if key not in values["parameters"] or not isinstance(value, list) or not value:
            raise fault("choices", {key: value}, "a list of values for a name in 'parameters'")
    if set(values["profiles"]) != set(PROFILES):
        raise fault("profiles", list(values["profiles"]), f"exactly {listed(PROFILES)}")
    if not values["executions"]:
        raise fault("executions", values["executions"], "at least one execution")

    parameters = dict(values["parameters"])
    choices = {key: tuple(value) for key, value in values["choices"].items()}

    def settled(field: str, key: str, given: object) -> Mapping[str, Scalar]:
        if not isinstance(given, dict):
            raise fault(field, {key: given}, "a mapping of parameters")
        try:
            return {
                parameter: checked(name, parameters, choices, parameter, value) for parameter, value in given.items()
            }
        except (RegistryError, ConfigurationError) as error:
            raise type(error)(f"experiments.yml, {field}, {key}: {error}") from None

    settled("parameters", "defaults", values["parameters"])
    executions = {}
    for key, given in values["executions"].items():
        if not _NAME.fullmatch(key):
            raise fault("executions", key, "names of letters, digits, '.', '_', '-'")
        executions[key] = MappingProxyType(settled("executions", key, given))
    twins = {}
    for key, given in executions.items():
        complete = values["parameters"] | dict(given)
        twin = twins.setdefault(tuple(sorted(complete.items())), key)
        if twin != key:
            raise fault("executions", [twin, key], "different parameters in each execution")
    profiles = {key: MappingProxyType(settled("profiles", key, given)) for key, given in values["profiles"].items()}
    return {
        **{field: values[field] for field in ("title", "paper", "module", "notebook")},
        "published": tables,
        "published_datasets": MappingProxyType(datasets),
        "published_protocols": MappingProxyType(dict(values["published_protocols"])),
        "stand_ins": MappingProxyType(dict(values["stand_ins"])),
        "splits": values["splits"],
        "repetitions": repeated,
        "evidence": tuple(MappingProxyType(one) for one in declared),
        "files": values["files"],
        "parameters": MappingProxyType(parameters),
        "choices": MappingProxyType(choices),
        "executions": MappingProxyType(executions),
        "profiles": MappingProxyType(profiles),
    }


def _texts(value: object) -> tuple[str, ...] | None:
    """One text or a list of texts as a tuple; None for anything else."""
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else (None,)
    return texts if all(isinstance(text, str) and text for text in texts) else None


def parse(owner: str, parameters: Mapping, choices: Mapping, name: str, text: str) -> Scalar:
    """The value that ``text`` means for a parameter: the type is that of the default; the text is never evaluated."""
    kind = _kind(owner, parameters, name)
    try:
        value = _parse(kind, text)
    except ValueError:
        raise _misfit(owner, kind, choices, name, text) from None
    return checked(owner, parameters, choices, name, value)


def checked(owner: str, parameters: Mapping, choices: Mapping, name: str, value: object) -> Scalar:
    """``value`` if the parameter may have it; a whole number serves where a number is needed."""
    kind = _kind(owner, parameters, name)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise _misfit(owner, kind, choices, name, value)
    if name in choices and value not in choices[name]:
        raise ConfigurationError(f"{owner}: parameter {name!r} cannot be {value!r}; it can be {listed(choices[name])}.")
    return value


def _kind(owner: str, parameters: Mapping, name: str) -> type:
    if name not in parameters:
        known = ", ".join(f"{key} (default {value})" for key, value in parameters.items())
        raise RegistryError(f"{owner} has no parameter {name!r}; its parameters are {known}.")
    return type(parameters[name])


def _misfit(owner: str, kind: type, choices: Mapping, name: str, value: object) -> ConfigurationError:
    offer = f" ({listed(choices[name])})" if name in choices else ""
    return ConfigurationError(f"{owner}: parameter {name!r} needs {_TYPE_NAMES[kind]}{offer}, but got {value!r}.")


def _parse(kind: type, text: str) -> Scalar:
    if kind is bool:
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _refuse()
    if kind is int:
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else _refuse()
    if kind is float:
        value = float(text)
        return value if math.isfinite(value) else _refuse()
    return text


def _refuse():
    raise ValueError


def listed(names: Iterable) -> str:
    """Names for a message, separated by commas."""
    return ", ".join(str(name) for name in names)
