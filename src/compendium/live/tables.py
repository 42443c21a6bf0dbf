"""Audits of a table that a reader chooses in the browser: it stays on this machine, in a folder that goes.

Processes with limits read it: this module, run with the path of a table, for its columns; ``evenspan audit`` for all.
"""

import json
import os
import re
import resource
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from evenspan.auditing import read
from evenspan.core.errors import ConfigurationError, DataError, FairError

#: The largest table in bytes.
LARGEST = 2**30
#: Bytes of memory that an audit, or reading the columns, may take, and seconds of a processor of the latter.
MEMORY, SECONDS = 6 * 2**30, 60
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
        try:
            path.write_bytes(content)
            return {"key": key, "columns": self._columns(path)}
        except (FairError, OSError, ValueError) as error:
            shutil.rmtree(path.parent)
            how = f"{name[:60]!r} cannot be kept ({error.args[-1]}). Rename the table."
            raise ConfigurationError(f"{error}" if isinstance(error, FairError) else how) from error

    def _columns(self, path: Path) -> list[str]:
        """The columns of a table, as a process with limits reads them."""
        process = self._start(__name__, f"{path}", said=subprocess.PIPE, seconds=SECONDS)
        said, _ = process.communicate()
        wrong = f"{path.name} is not read with {MEMORY / 2**30:g} GiB of memory in {SECONDS} s. Choose rows at random."
        columns, wrong = ([], wrong) if process.returncode else json.loads(said.splitlines()[-1])
        if wrong:
            raise DataError(wrong)
        return columns

    def _start(self, *command: str, said, seconds: int | None = None) -> subprocess.Popen:
        """A module of Python with its arguments, in a process with limits."""
        limits = {resource.RLIMIT_DATA: MEMORY} | ({resource.RLIMIT_CPU: seconds} if seconds else {})
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=said,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=self.tables,
            start_new_session=True,
            preexec_fn=lambda: [resource.setrlimit(kind, (most, most)) for kind, most in limits.items()],
        )

    def begin(self, asked: Mapping) -> str:
        """Start ``evenspan audit``; the key of the audit."""
        table = str(asked.get("table"))
        found = [*(self.tables / table).glob("*")] if re.fullmatch("[0-9a-f]{16}", table) else []
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
            command = ["evenspan", "audit", f"{found[0]}", *given, "-o", f"{self.reports / key}"]
            self._running[key] = self._start(*command, said=said)
        return key

    def state(self, key: str) -> dict:
        """How far an audit is: what it said last, and whether it ended, and well."""
        code = self._process(key).poll()
        return {"said": self._said(key).read_text(encoding="utf-8", errors="replace").strip(), "code": code}

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


if __name__ == "__main__":
    try:
        answer = read.open_table(sys.argv[1]).columns, ""
    except FairError as error:
        answer = (), str(error)
    print(json.dumps(answer))
