"""Download one file over HTTP, continuing where an interrupted download stopped. A downloader in pooch's sense."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import requests

from evenspan.core.errors import FetchError

from .registry import RawFile
from .storage import fault

BLOCK = 1 << 16
TIMEOUT = (15, 60)  # seconds to connect, and between two blocks
AGAIN = "check the connection and run the same command again; it continues where it stopped."


class ResumingDownloader:
    """Fetch ``url`` into ``output_file``; what arrived before an interruption is kept aside and continued later.

    The unfinished part is called ``.NAME.part`` and never has the name of the file. A process claims it by renaming it
    to a name of its own, so that two processes that fetch the same file at once cannot write into the same part.

    Parameters
    ----------
    file : RawFile
        What the registry says about the file.
    folder : Path
        Where the unfinished part is kept: on the same disc as the finished file.
    advance : callable, optional
        Called with the number of bytes that arrived; those of an earlier attempt come first.
    """

    def __init__(self, file: RawFile, folder: Path, advance: Callable[[int], None] = lambda count: None):
        self.file, self.folder, self.advance = file, folder, advance

    def __call__(self, url: str, output_file: str, pooch=None) -> None:
        """Download; pooch compares the checksum afterwards and gives the file its name."""
        part = self.folder / f".{self.file.name}.part"
        handle, own = tempfile.mkstemp(prefix=f".{self.file.name}.", suffix=".own", dir=self.folder)
        os.close(handle)
        own = Path(own)
        try:
            with contextlib.suppress(FileNotFoundError):
                part.replace(own)  # claim: succeeds for one process only
            self._receive(url, own)
            own.replace(output_file)
        except requests.RequestException as error:
            raise FetchError(fault(self.file, self.folder, *_network(error))) from error
        except OSError as error:
            if isinstance(error, FetchError):
                raise
            raise FetchError(fault(self.file, self.folder, *disc(error))) from error
        finally:
            with contextlib.suppress(OSError):  # an unwritable disc has been reported already
                if own.exists() and own.stat().st_size:
                    own.replace(part)
                own.unlink(missing_ok=True)

    def _receive(self, url: str, own: Path) -> None:
        start = own.stat().st_size
        if start >= self.file.bytes:
            own.write_bytes(b"")
            start = 0
        # identity: a range of a compressed transfer would not be a range of the file
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if start and response.status_code == requests.codes.requested_range_not_satisfiable:
                own.write_bytes(b"")
                return self._receive(url, own)
            response.raise_for_status()
            if response.status_code != requests.codes.partial_content:  # the server sends everything again
                start = 0
            elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                own.write_bytes(b"")
                raise FetchError(fault(self.file, self.folder, "the server sent another part than asked for.", AGAIN))
            with own.open("r+b") as target:
                target.seek(start)
                target.truncate()
                self.advance(start)
                self._copy(response, target, start)

    def _copy(self, response: requests.Response, target, start: int) -> None:
        received = start
        for block in response.iter_content(BLOCK):
            target.write(block)
            received += len(block)
            self.advance(len(block))
            if received > self.file.bytes:
                target.truncate(0)
                raise FetchError(
                    fault(
                        self.file,
                        self.folder,
                        f"wrong content: more than the {self.file.bytes} bytes expected arrived.",
                        "compare the address with the registry's origin; a proxy or log-in page may have answered.",
                    )
                )
        announced = int(response.headers.get("Content-Length", self.file.bytes - start))
        if received - start < announced:  # not every version of urllib3 takes a short answer for an error
            raise FetchError(fault(self.file, self.folder, f"the transfer stopped after {received} bytes.", AGAIN))


def _network(error: requests.RequestException) -> tuple[str, str]:
    if isinstance(error, requests.HTTPError):
        code, reason = error.response.status_code, error.response.reason
        advice = (
            "the address is dead or closed to you: see whether the origin in the registry still exists; if you have "
            "the file, put it into a folder and set EVENSPAN_DATA to that; the checksum decides whether it is the one."
        )
        return f"the server answered {code} {reason}.", advice if code < 500 else AGAIN
    if isinstance(error, requests.Timeout):
        return f"the server did not answer in time ({error}).", AGAIN
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke in the middle of the transfer.", AGAIN
    # urllib3 keeps the cause apart from a text that repeats the address
    cause = getattr(error.args[0], "reason", error) if error.args else error
    return f"no connection ({cause}).", (
        "check the network and the proxy settings and run the same command again; without a network, set EVENSPAN_DATA "
        "to a folder that holds the files."
    )


def disc(error: OSError) -> tuple[str, str]:
    """What was seen and what to do when the disc refuses."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disc is full ({error}).", "free some space, or set EVENSPAN_CACHE to a folder with more."
    return f"cannot be written ({error}).", "make the folder writable, or set EVENSPAN_CACHE to one that is."
