from .. import _C

_enable_profiler = _C._autograd._enable_profiler
_disable_profiler = _C._autograd._disable_profiler
_profiler_enabled = _C._autograd._profiler_enabled

from . import profiler  # noqa: E402, F401
