"""Audits of a table that a reader chooses in the browser: it stays on this machine, in a folder that goes."""

import os
import resource
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from evenspan.auditing import read
from evenspan.core.errors import ConfigurationError, FairError

#: The largest table in bytes.
LARGEST = 2**30
#: Bytes of memory that an audit may take.
MEMORY = 6 * 2**30
#: Audits at once.
MOST = 2


class Audits:
    """The audits of a server: each a process that writes its report into a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.tables, self.reports = folder / "tables", folder / "reports"
        self.tables.mkdir()
        self.reports.mkdir()
        self._running: dict[str, subprocess.Popen] = {}

    def take(self, name: str, content: bytes) -> dict:
        """Keep a table: the key by which an audit finds it, and its columns; one that cannot be read goes again."""
        key = secrets.token_hex(8)
        path = self.tables / key / (Path(name).name.lstrip(".") or "table")
        path.parent.mkdir()
        path.write_bytes(content)
        try:
            return {"key": key, "columns": list(read.open_table(str(path)).columns)}
        except FairError:
            path.unlink()
            path.parent.rmdir()
            raise

    def begin(self, asked: Mapping) -> str:
        """Start ``evenspan audit``; the key of the audit."""
        found = sorted((self.tables / str(asked.get("table"))).glob("*")) if asked.get("table") else []
        sensitive = [str(name) for name in asked.get("sensitive") or ()]
        if not found or not sensitive:
            raise ConfigurationError("Needed are a table and at least one column whose groups are compared.")
        if sum(one.poll() is None for one in self._running.values()) >= MOST:
            raise ConfigurationError(f"{MOST} audits are running already. Wait for one, or stop it.")
        key = secrets.token_hex(8)
        given = [f"--sensitive={name}" for name in sensitive]
        given += [f"--{name}={asked[name]}" for name in ("target", "missing") if asked.get(name)]
        given += [f"-k{asked['k']}"] if asked.get("k") else []
        with self._said(key).open("wb") as said:
            self._running[key] = subprocess.Popen(
                [sys.executable, "-m", "evenspan", "audit", f"{found[0]}", *given, "-o", f"{self.reports / key}"],
                stdout=said,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=self.tables,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
            )
        return key

    def state(self, key: str) -> dict:
        """How far an audit is: what it said last, and whether it ended, and well."""
        said = self._said(key).read_text(encoding="utf-8", errors="replace").strip()
        return {"said": said, "code": self._process(key).poll()}

    def end(self, key: str) -> None:
        """Stop an audit with all that it started."""
        process = self._process(key)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)

    def _process(self, key: str) -> subprocess.Popen:
        if key not in self._running:
            raise ConfigurationError(f"There is no audit {key!r} here. Start one with a table and its columns.")
        return self._running[key]

    def _said(self, key: str) -> Path:
        return self.reports / f"{key}.txt"
