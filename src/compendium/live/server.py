"""The server behind ``make live``: Jupyter's, on this machine alone, with the book, its notebooks and audits.

Whoever has the address with its token gets a cookie that scripts cannot read and other sites do not send; all else is
refused. What the server and its kernels write is below one temporary folder, which goes when the server stops.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from jupyter_server.utils import url_path_join
from tornado import web
from traitlets.config import Config

from compendium import paths
from compendium.book.pages import environment
from compendium.workers import SIGNALS
from evenspan.core.errors import ConfigurationError, FairError

from . import kernel, pages, tables

#: How the name of the folder of a server begins.
PREFIX = "evenspan-live-"
#: Kernels that wait for a page.
READY = 2
#: Seconds after which another one is made ready; until then the machine is the page's.
PAUSE = 5
#: Seconds after which a kernel that a page has left idle ends.
IDLE = 3600
LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"
#: A folder with a longer name has no room for the names of sockets; kernels then listen to signed messages at ports.
LONGEST = 45
#: The name of the only kind of kernel; the environment has another one, without limits, as "python3".
KIND = "evenspan-live"


class WarmKernels(AsyncMappingKernelManager):
    """Some kernels more than are asked for are always ready, so that a first cell does not wait for its imports."""

    def __init__(self, **given):
        super().__init__(**given)
        self._ready: list[asyncio.Future] = []
        self._given: set[str] = set()

    def prepare(self) -> None:
        """Start the kernels that the next pages will get."""
        while len(self._ready) < READY:
            self._ready.append(asyncio.ensure_future(super().start_kernel(kernel_name=KIND)))

    async def start_kernel(self, **asked):  # whatever is asked: there is one kind of kernel, and one place for it
        asyncio.get_running_loop().call_later(PAUSE, self.prepare)
        found = await self._ready.pop(0) if self._ready else None
        if found not in self:  # or it has ended meanwhile
            found = await super().start_kernel(kernel_name=KIND)
        self._given.add(found)
        return found

    async def shutdown_kernel(self, kernel_id, now=True, restart=False):
        """At once: a kernel has nothing to save, and nothing to say of what it was at."""
        self._check_kernel_id(kernel_id)
        await self.get_kernel(kernel_id).signal_kernel(signal.SIGKILL)
        await super().shutdown_kernel(kernel_id, now=True, restart=restart)

    async def cull_kernel_if_idle(self, kernel_id):
        """One that is ready waits as long as the server runs."""
        if kernel_id in self._given:
            await super().cull_kernel_if_idle(kernel_id)

    def list_kernels(self):
        """Those of pages: one that is ready is nobody's yet, and may be half started."""
        return [self.kernel_model(one) for one in self.list_kernel_ids() if one in self._given]


class BookHandler(JupyterHandler, web.StaticFileHandler):
    """The files of the built book, for whoever has the cookie; the token leaves the address once it was read."""

    @web.authenticated
    async def get(self, path, include_body=True):
        self.xsrf_token  # noqa: B018 - asking for it sets its cookie
        if self.get_argument("token", ""):
            self.redirect(self.request.path)
            return
        await web.StaticFileHandler.get(self, path, include_body)

    def set_extra_headers(self, path):
        self.set_header("Cache-Control", "no-cache")  # another build may lie there

    def write_error(self, status_code, **given):
        web.StaticFileHandler.write_error(self, status_code, **given)


class ReportHandler(BookHandler):
    """A report of an audit: it is shown in a frame and reaches nothing of the page around it."""

    @property
    def content_security_policy(self):
        return "sandbox allow-scripts allow-popups allow-downloads; frame-ancestors 'self'"


class _Answering(APIHandler):
    """Answers with what a call gives, or with the words of an error of evenspan's."""

    async def answer(self, call: Callable, *given) -> None:
        try:
            found = await asyncio.to_thread(call, *given)
        except FairError as error:
            self.set_status(400)
            found = {"message": str(error)}
        self.finish(json.dumps(found))


class PageHandler(_Answering):
    """What a page runs (GET), and the cell of its parameters with other values (POST)."""

    @web.authenticated
    async def get(self):
        await self.answer(pages.page, self.get_argument("name"), self.get_argument("execution", ""))

    @web.authenticated
    async def post(self):
        asked = self.get_json_body() or {}
        await self.answer(pages.parameters, str(asked.get("name")), dict(asked.get("values") or {}))


class AuditHandler(_Answering):
    """A table comes in (PUT), answered by its columns; an audit begins (POST), is asked (GET), and ended (DELETE)."""

    @web.authenticated
    async def put(self, key):
        await self.answer(self.settings["evenspan_audits"].take, key, self.request.body)

    @web.authenticated
    async def post(self, key=""):
        await self.answer(self.settings["evenspan_audits"].begin, self.get_json_body() or {})

    @web.authenticated
    async def get(self, key=""):
        await self.answer(self.settings["evenspan_audits"].state, key)

    @web.authenticated
    async def delete(self, key=""):
        await self.answer(self.settings["evenspan_audits"].end, key)


class Live(ServerApp):
    """Jupyter's server with what this module adds."""

    def init_webapp(self):
        super().init_webapp()
        html, base = paths.build("html"), self.base_url
        audits = tables.Audits(Path(self.root_dir))
        self.web_app.settings["evenspan_audits"] = audits
        routes = [
            (r"/book/(.*)", BookHandler, {"path": str(html), "default_filename": "index.html"}),
            (r"/live/page", PageHandler, {}),
            (r"/live/tables/(?P<key>[^/]+)", AuditHandler, {}),
            (r"/live/audits/?(?P<key>[0-9a-f]*)", AuditHandler, {}),
            (r"/live/reports/(.*)", ReportHandler, {"path": str(audits.reports), "default_filename": "report.html"}),
        ]
        self.web_app.add_handlers(".*$", [(url_path_join(base, path), *rest) for path, *rest in routes])

    def start(self):
        self.io_loop.add_callback(self.kernel_manager.prepare)
        self.io_loop.add_callback(self._announce)
        try:
            super().start()
        finally:  # kernels, also one that is just starting, and audits: none may write into a folder that goes
            children = psutil.Process().children(recursive=True)
            for child in children:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            psutil.wait_procs(children)

    async def cleanup_kernels(self):
        """Nothing here: :meth:`start` ends them when none can begin any more, and none says that it was interrupted."""

    def init_signal(self):
        super().init_signal()
        for one in SIGNALS:
            signal.signal(one, lambda *_: self.stop(from_signal=True))  # without a question

    def _announce(self) -> None:
        address = f"http://{LOOPBACK}:{self.port}/book/index.html?token={self.identity_provider.token}"
        whose = "for this machine alone" if self.ip == LOOPBACK else "for all who reach this machine and have the token"
        print(f"The book, to be run here: {address}\n({whose}; stop with Ctrl-C)", flush=True)


def serve(port: int, ip: str = LOOPBACK) -> None:
    """Serve the book until Ctrl-C."""
    if not paths.build("html", "index.html").is_file():
        raise ConfigurationError("There is no book yet: run 'make book' first, then 'make live'.")
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/tables"):
        with contextlib.suppress(OSError):  # it is another server's, which lives
            fcntl.flock(os.open(left.parent, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        fcntl.flock(os.open(name, os.O_RDONLY), fcntl.LOCK_EX)  # until this process ends, however it does
        folder = Path(name)
        jupyter = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
        os.environ |= {"TMPDIR": name, "JUPYTER_NO_CONFIG": "1", **jupyter}
        Live.launch_instance([], config=_configuration(folder, port, ip))


def _environment(folder: Path) -> dict[str, str]:
    """That of a kernel: as for a page of the book, with every place that it writes to in the folder."""
    (folder / "matplotlib").mkdir()
    (folder / "build").mkdir()
    (folder / "build" / "numbers").touch()  # no folder: links hold the numbers of a run, which the book has no file of
    for cache in paths.build("cache", "matplotlib").glob("fontlist-*.json"):
        shutil.copy(cache, folder / "matplotlib")
    return environment() | {
        kernel.FOLDER: str(folder),
        "EVENSPAN_BUILD": str(folder / "build"),
        "EVENSPAN_ONCE": str(paths.build("once")),
        "MPLCONFIGDIR": str(folder / "matplotlib"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _configuration(folder: Path, port: int, ip: str) -> Config:
    spec = {
        "argv": [sys.executable, "-m", kernel.__name__, "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
        "env": _environment(folder),
    }
    place = folder / "data" / "kernels" / KIND
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps(spec))
    return Config(
        {
            "ServerApp": {
                "ip": ip,
                "port": port,
                "open_browser": False,
                "root_dir": str(folder),
                "max_body_size": tables.LARGEST,
                "max_buffer_size": tables.LARGEST,
                "terminals_enabled": False,
                "jpserver_extensions": {},
                "kernel_manager_class": WarmKernels,
                "default_url": "/book/index.html",
                "log_level": "ERROR",
                "allow_remote_access": ip != LOOPBACK,
                "quit_button": False,
                "allow_root": True,  # as in a container
            },
            "IdentityProvider": {
                "token": secrets.token_urlsafe(32),
                "cookie_options": {"samesite": "Strict", "httponly": True},
            },
            "KernelSpecManager": {"ensure_native_kernel": False, "allowed_kernelspecs": {KIND}},
            "KernelManager": {"transport": "ipc" if len(str(folder)) <= LONGEST else "tcp"},
            "KernelRestarter": {"restart_limit": 0},  # a page takes one that is ready instead
            "WarmKernels": {"cull_idle_timeout": IDLE, "root_dir": str(paths.root())},
        }
    )
