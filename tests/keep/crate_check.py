"""Validate a crate without any network: the format's own vocabulary comes from the package rocrate."""

import io
import logging
import os
import warnings
from importlib.resources import files
from pathlib import Path

CONTEXT = "https://w3id.org/ro/crate/1.3/context"


def faults(folder: Path, cache: Path, severity: str, profile: str = "ro-crate-1.3") -> list[str]:
    """What the validator finds in a crate at a severity and above; the cache is a folder of one's own."""
    os.environ["ROCRATE_VALIDATOR_AUTO_WARM"] = "0"
    from rocrate_validator.models import Severity, ValidationSettings
    from rocrate_validator.services import validate

    logging.disable(logging.WARNING)
    _fill(cache / "http")
    settings = ValidationSettings(
        rocrate_uri=str(folder),
        profile_identifier=profile,
        requirement_severity=Severity[severity],
        cache_path=cache / "http",
        offline=True,
    )
    with warnings.catch_warnings():
        # The validator uses parts of rdflib that are going to be replaced; that is not our concern.
        warnings.simplefilter("ignore", DeprecationWarning)
        issues = validate(settings).get_issues()
    logging.disable(logging.NOTSET)
    return [f"{one.check.identifier} {one.severity.name} {one.violatingEntity}: {one.message}" for one in issues]


def _fill(cache: Path) -> None:
    """Put the vocabulary where the validator looks before it asks the network, which it may not."""
    from requests import Request
    from requests.adapters import HTTPAdapter
    from requests_cache import CachedSession
    from urllib3 import HTTPResponse

    content = files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
    assert CONTEXT.encode() in content[:100], "rocrate comes with another version of the vocabulary"
    session = CachedSession(cache_name=str(cache), backend="sqlite", expire_after=-1)
    request = session.prepare_request(Request("GET", CONTEXT))
    kind = {"Content-Type": "application/ld+json"}
    raw = HTTPResponse(io.BytesIO(content), kind, 200, preload_content=False, request_url=CONTEXT)
    session.cache.save_response(HTTPAdapter().build_response(request, raw))
    session.close()
