"""Clusters of workers: which one computes, and what is said when it cannot."""

import importlib
import logging
import os
import time
from concurrent.futures import CancelledError
from contextlib import contextmanager

from .errors import ClusterError, ConfigurationError

#: Seconds without a single worker after which a computation is given up.
PATIENCE = 30.0
#: Seconds between two looks at whether there are workers.
GLANCE = 1.0
#: How often an operand that was lost with its workers is sent again.
ATTEMPTS = 3


def require(name: str):
    """A module of Dask; ConfigurationError saying what to install when it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            f"work on a cluster needs Dask, but {error.name or name} is not installed: pip install 'evenspan[scale]'."
        ) from error


@contextmanager
def connected(client=None):
    """A client of the cluster that is meant.

    Parameters
    ----------
    client : distributed.Client or str, optional
        A client, or the address of a scheduler. Without one the current client, and where there is none a cluster on
        this machine, with one process for each core this process may use; it ends with the block.
    """
    distributed = require("distributed")
    if isinstance(client, str):
        try:
            own = distributed.Client(client, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(
                f"no scheduler answers at {client!r} ({type(error).__name__}: {error}). Needed is the address of a "
                "running one, such as tcp://10.0.0.1:8786, as dask-scheduler or client.scheduler_info() tells it."
            ) from error
        with own:
            yield own
        return
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            with local_cluster() as own:
                yield own
            return
    if not isinstance(client, distributed.Client):
        raise ConfigurationError(
            f"client is a {type(client).__name__}; needed is a distributed.Client, the address of a scheduler, or None."
        )
    if client.asynchronous:
        raise ConfigurationError("the client is asynchronous; needed is one made with asynchronous=False.")
    if client.status != "running":
        raise ClusterError(f"the client is {client.status}; needed is one that is connected. Make a new one.")
    yield client


@contextmanager
def local_cluster(n_workers: int | None = None):
    """A client of a new cluster on this machine: processes with one thread each, one for each core unless told."""
    distributed, config = require("distributed"), require("dask.config")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Port 0 is any free one: that of the dashboard may be taken by another cluster.
    options = {"n_workers": n_workers or cores, "threads_per_worker": 1, "dashboard_address": ":0"}
    # An error of the work reaches the caller. What workers log besides is that the scheduler ended before their last
    # heartbeat, which happens by chance whenever a cluster is closed.
    quiet = {"distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical"}
    with (
        config.set(quiet),
        distributed.LocalCluster(processes=True, silence_logs=logging.CRITICAL, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def finished(client, graph, operand=None):
    """The value of ``graph(sent)`` once it is computed, ``sent`` being the operand on every worker."""
    for _ in range(ATTEMPTS):
        future = None
        try:
            _has_workers(client)
            sent = None if operand is None else client.scatter(operand, broadcast=True, hash=False)
            future = client.compute(graph(sent), optimize_graph=False)
            _wait(client, future)
            if future.status == "finished":
                return future.result()
        except CancelledError:  # its worker died before the value was fetched
            continue
        except (OSError, TimeoutError) as error:  # among them errors of communication
            raise ClusterError(
                f"the scheduler at {_address(client)} is lost ({type(error).__name__}: {error}). Start it again, "
                "connect a new client and repeat the call."
            ) from error
        finally:
            if future is not None and not future.done():
                future.cancel()
        if future.status == "error":
            raise _meant(future.exception())
        # What was sent is lost with the workers that held it; everything else Dask computes again by itself.
    raise ClusterError(
        f"the computation was given up by the cluster at {_address(client)} in {ATTEMPTS} attempts: data on its "
        "workers are lost, or it was restarted. Make persisted collections anew and repeat the call."
    )


def _meant(error: BaseException) -> BaseException:
    """What an error of a worker means for the caller, who does not know how Dask puts it."""
    if isinstance(error, require("distributed").KilledWorker):
        told_so = ClusterError(
            f"workers died again and again while working on {error.task}, as happens when a chunk and its sums do not "
            "fit into their memory. Cut the table into smaller chunks, or give the workers more memory."
        )
    elif isinstance(error, ModuleNotFoundError):
        told_so = ClusterError(
            f"a worker cannot import {error.name!r}: {error}. Install the same packages on all machines of the cluster."
        )
    else:
        return error
    told_so.__cause__ = error
    return told_so


def _wait(client, future) -> None:
    while not future.done():
        try:
            future.exception(timeout=GLANCE)
        except TimeoutError:
            _has_workers(client)


def _has_workers(client) -> None:
    """Return once there is a worker; ClusterError when there is none for a long time."""
    patience = time.monotonic() + PATIENCE
    while client.status != "running" or not client.nthreads():
        if client.status in ("closing", "closed"):
            raise ClusterError(
                "the scheduler was shut down, or its client closed, in the middle of a computation. Start it again, "
                "connect a new client and repeat the call."
            )
        if time.monotonic() > patience:
            cause, cure = "has not answered", "Start it again, connect a new client"
            if client.status == "running":
                cause = "has had no worker"
                cure = "Start workers with 'dask worker ADDRESS' (or see why they ended, as for want of memory)"
            raise ClusterError(
                f"the cluster at {_address(client)} {cause} for {PATIENCE:g} seconds. {cure} and repeat the call."
            )
        time.sleep(min(GLANCE, PATIENCE / 10))


def _address(client) -> str:
    return getattr(client.scheduler, "address", None) or "an unknown address"
