"""Stands in for PyTorch where there is none: begins and ends ITT ranges as torch does, by the library INTEL_LIBITTNOTIFY64 names."""

import ctypes
import os
import threading

__version__ = os.environ.get("STANDIN_VERSION", "2.99.0")

if os.environ.get("STANDIN_FAILS"):
    raise ImportError("libstandin.so.1: cannot open shared object file")


class _Function(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("pointer", ctypes.POINTER(ctypes.c_void_p)), ("init", ctypes.c_void_p),
                ("null", ctypes.c_void_p), ("group", ctypes.c_int)]


class _Global(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_ubyte * 8), ("version", ctypes.c_ulong * 3), ("states", ctypes.c_long * 3),
                ("mutex", ctypes.c_ulong * (5 if os.uname().machine == "x86_64" else 6)), ("library", ctypes.c_void_p),
                ("on_error", ctypes.c_void_p), ("path", ctypes.c_void_p), ("functions", ctypes.POINTER(_Function))]


class _Domain(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_int), ("name", ctypes.c_char_p)]


class _Id(ctypes.Structure):
    _fields_ = [("parts", ctypes.c_ulonglong * 3)]


_NAMES = (b"__itt_string_handle_create", b"__itt_task_begin", b"__itt_task_end", b"__itt_frame_begin_v3")
_pointers = (ctypes.c_void_p * len(_NAMES))()
_functions = (_Function * (len(_NAMES) + 1))()
for _i, _name in enumerate(_NAMES):
    _functions[_i].name = _name
    _functions[_i].pointer = ctypes.cast(ctypes.byref(_pointers, 8 * _i), ctypes.POINTER(ctypes.c_void_p))
_global = _Global((ctypes.c_ubyte * 8)(0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30), (ctypes.c_ulong * 3)(3, 0, 0))
_global.functions = _functions
_domain, _foreign = _Domain(1, b"PyTorch"), _Domain(1, b"oneDNN")
_calls = []


def _find_collector():
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    path = getenv(b"INTEL_LIBITTNOTIFY64")
    if path:
        ctypes.CDLL(os.fsdecode(path)).__itt_api_init(ctypes.byref(_global), ctypes.c_int(-1))
        handle = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(_pointers[0])
        begin = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _Id, _Id, ctypes.c_void_p)(_pointers[1])
        _calls.extend((handle, begin, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_pointers[2])))


class _C:
    class _itt:
        @staticmethod
        def is_available():
            return True

        @staticmethod
        def rangePush(name, domain=_domain):
            if not _calls:
                _find_collector()
            if _calls:
                _calls[1](ctypes.addressof(domain), _Id(), _Id(), _calls[0](name.encode()))

        @staticmethod
        def rangePop(domain=_domain):
            if _calls:
                _calls[2](ctypes.addressof(domain))

    class _autograd:
        state = type("State", (threading.local,), {"is_on": False})()  # each thread's own, as torch has it

        @staticmethod
        def _enable_profiler(config, activities):
            if _C._autograd.state.is_on:
                raise RuntimeError("Profiler is already enabled on this thread")
            _C._autograd.state.is_on = config

        @staticmethod
        def _disable_profiler():
            if not _C._autograd.state.is_on:
                raise RuntimeError("Can't disable Kineto profiler when it's not running")
            _C._autograd.state.is_on = False

        @staticmethod
        def _profiler_type():
            return "ActiveProfilerType.%s" % (_C._autograd.state.is_on or "NONE")

        @staticmethod
        def _profiler_enabled():
            return bool(_C._autograd.state.is_on)


def foreign():
    """A range of another library that happens to lie in the same file."""
    _C._itt.rangePush("dnnl::inner", _foreign)
    _C._itt.rangePop(_foreign)


def add():
    if _C._autograd.state.is_on == "ITT":
        _C._itt.rangePush("aten::add")
        _C._itt.rangePush("aten::empty")
        foreign()
        _C._itt.rangePop()
        _C._itt.rangePop()


from . import autograd  # noqa: E402
