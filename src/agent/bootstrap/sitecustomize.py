"""Starts the agent of leadline in this interpreter, then makes way for the program's own sitecustomize.

Found through PYTHONPATH, which names this folder first. Works from Python 3.6 on, imports nothing that is not
there already, and whatever goes wrong here is nothing to the program: it runs on untraced.
"""

import sys


def _chain(folder):
    """The program's own sitecustomize, as if this one did not exist."""
    import _frozen_importlib as bootstrap
    import _frozen_importlib_external as external

    sys.path[:] = [entry for entry in sys.path if entry != folder]
    sys.path_importer_cache.pop(folder, None)
    spec = external.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = bootstrap.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _start(folder):
    """Loads the agent built for this interpreter, which lies beside the folder."""
    import _frozen_importlib as bootstrap
    import _frozen_importlib_external as external
    import posix

    session = folder.rpartition("/")[0]
    tag = "cp%d%d%s" % (sys.version_info[0], sys.version_info[1], sys.abiflags)
    path = "%s/agents/%s.so" % (session, tag)
    if sys.implementation.name != "cpython":
        tag = sys.implementation.name
    try:
        posix.stat(session + "/agents")
    except OSError:
        return  # this run samples: it has lent the package, and no more
    try:
        posix.stat(path)
    except OSError:
        return _tell_missing(posix, "%s/without-%s" % (session, tag))
    loader = external.ExtensionFileLoader("_leadline_agent", path)
    spec = bootstrap.ModuleSpec("_leadline_agent", loader, origin=path)
    try:
        agent = bootstrap.module_from_spec(spec)
    except Exception as error:
        if "subinterpreter" in str(error):
            return _tell_interpreter(posix, session)
        is_full = "failed to map" in str(error) or "allocate memory" in str(error)
        if not is_full or not _tell_limit(posix, session, 12):
            _tell_missing(posix, "%s/refused-%s" % (session, tag), str(error))
        raise
    loader.exec_module(agent)
    if not agent.is_ours():
        return _tell_interpreter(posix, session)
    _exclude(posix, session, agent)
    if agent.start(True) is False:
        _tell_limit(posix, session, agent.why())
    _lines(session, folder, agent)
    _torch(session, folder, agent, path)


def _tell_missing(posix, path, why=""):
    """Leaves that there is no agent for this interpreter, or that it could not be loaded and why; the tool tells the user."""
    lines = [(sys.executable or "").replace("\n", "?"), why.replace("\n", " ")[:400]]
    fd = posix.open(path, posix.O_CREAT | posix.O_WRONLY | posix.O_TRUNC | posix.O_CLOEXEC, 0o600)
    posix.write(fd, "\n".join(lines).encode("utf-8", "surrogateescape"))
    posix.close(fd)


def _tell_interpreter(posix, session):
    """Counts an interpreter that the program has made and that is not traced, by a byte; the tool tells the user."""
    fd = posix.open("%s/interpreters-%d" % (session, posix.getpid()), posix.O_CREAT | posix.O_WRONLY | posix.O_APPEND | posix.O_CLOEXEC, 0o600)
    posix.write(fd, b".")
    posix.close(fd)


def _tell_limit(posix, session, why):
    """Leaves which limit has kept the agent out, and its value, where one did; the tool tells the user. Whether one did."""
    name = {12: b"Max address space", 24: b"Max open files"}.get(why)  # ENOMEM, EMFILE
    for line in _read(posix, "/proc/self/limits").split(b"\n"):
        words = line[26:].split()
        if name and line.startswith(name) and words[0].isdigit():
            fd = posix.open("%s/limit-%d" % (session, posix.getpid()), posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC, 0o600)
            posix.write(fd, b"%d %s\n" % (why, words[0]))
            posix.close(fd)
            return True
    return False


class _Package:
    """Finds the package leadline when nothing else has: an installed one wins."""

    def __init__(self, folder):
        self._folder = folder

    def find_spec(self, name, path=None, target=None):
        if name != "leadline":
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(name, self._folder + "/__init__.py", submodule_search_locations=[self._folder])


def _exclude(posix, session, agent):
    """Leaves out what the session has a file for: patterns of files and functions."""
    try:
        agent.exclude(_read(posix, session + "/exclude").decode("utf-8", "replace"))
    except OSError:
        pass


def _lines(session, folder, agent):
    """Counts lines when the session has a file of that name: the patterns of functions."""
    import posix

    try:
        patterns = _read(posix, session + "/lines")
    except OSError:
        return
    path = folder + "/lines.py"
    code = compile(_read(posix, path), path, "exec")
    exec(code, {"__name__": "leadline_lines", "__file__": path, "agent": agent, "patterns": patterns.decode("utf-8", "replace")})


def _torch_full(folder):
    """Drives torch's profiler when the session has a file of that name: what it shall do."""
    import posix

    try:
        wish = _read(posix, folder.rpartition("/")[0] + "/torch-full")
    except OSError:
        return
    _run_for_torch(posix, folder, ("torch_modules.py", "torch_lines.py", "torch_full.py"), {"__name__": "leadline_torch_full", "wish": wish.decode("utf-8", "surrogateescape")})


def _torch(session, folder, agent, library):
    """Waits for PyTorch when the session has a file of that name."""
    import posix

    try:
        posix.stat(session + "/torch")
    except OSError:
        return
    _run_for_torch(posix, folder, ("torch_modules.py", "torch.py"), {"__name__": "leadline_torch", "agent": agent, "library": library})


def _run_for_torch(posix, folder, files, names):
    for part in ("torch_import.py", "torch_compile.py") + files:
        exec(compile(_read(posix, folder + "/" + part), "<frozen importlib._bootstrap_external>", "exec"), names)


def _read(posix, path):
    fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        return posix.read(fd, 1 << 20)
    finally:
        posix.close(fd)


_folder = __file__.rpartition("/")[0]
try:
    _chain(_folder)
finally:
    try:
        sys.meta_path.append(_Package(_folder.rpartition("/")[0] + "/package/leadline"))
        _torch_full(_folder)
        _start(_folder)
    except Exception:
        pass
