"""The part of leadline that runs inside this interpreter: an extension the tool unpacks when it begins to trace."""

import errno
import os
import sys
from typing import Any

from leadline._host import Error

user: Any = None  # the one recorder whose hooks are in
session = ""  # that the agent was last connected to
_agent: Any = None  # loaded once; later sessions take it over


def must_be_free() -> None:
    """Raises Error while a recorder uses it."""
    if user is not None:
        raise Error("another tracer is active")


def attach(to: str) -> Any:
    """The agent, connected to that session. Raises Error when there is none for this interpreter."""
    global _agent, session
    before = os.environ.get("LEADLINE_SESSION")
    os.environ["LEADLINE_SESSION"] = to
    session = to
    try:
        if _agent is None:
            _agent = _load(to)
        if not _agent.attach():
            raise Error(_why_not(_agent.why()))
    finally:
        if before is None:
            del os.environ["LEADLINE_SESSION"]
        else:
            os.environ["LEADLINE_SESSION"] = before
    return _agent


def _why_not(error: int) -> str:
    if error == errno.EPROTO:
        return "this interpreter has loaded the agent of another leadline version: restart it"
    return "the agent cannot reach the leadline process"


def _load(session: str) -> Any:
    from importlib.machinery import ExtensionFileLoader, ModuleSpec
    from importlib.util import module_from_spec

    tag = "cp%d%d%s" % (*sys.version_info[:2], getattr(sys, "abiflags", ""))
    path = f"{session}/agents/{tag}.so"
    if sys.implementation.name != "cpython" or not os.path.exists(path):
        if sys.implementation.name != "cpython":
            raise Error(f"{sys.implementation.name} cannot be traced, only CPython", 6)
        raise Error(f"leadline has no agent for {tag}: leadline doctor --build-agent {sys.executable} builds one", 6)
    loader = ExtensionFileLoader("_leadline_agent", path)
    try:
        agent = module_from_spec(ModuleSpec("_leadline_agent", loader, origin=path))
        loader.exec_module(agent)
    except ImportError as error:
        raise Error(f"the agent cannot be loaded: {error}", 6) from error
    return agent
