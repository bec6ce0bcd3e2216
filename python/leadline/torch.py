"""PyTorch: torch's own profiler with leadline's tables, and numbers of a training.

    import leadline

    with leadline.torch.profile(record_shapes=True) as prof:      # as torch.profiler.profile
        train(model)
    print(prof.key_averages().table(sort_by="cpu_time_total"))    # torch's table, made by leadline
    print(prof.report("--overview"))                              # what leadline report says of it

    leadline.torch.profile(schedule=…, on_trace_ready=leadline.torch.trace_handler("traces"))

    for batch in loader:
        …
        leadline.torch.step(samples=len(batch))                   # steps/s and samples/s in every recording

Torch is imported by profile() alone; step() works without it and does nothing while nothing records.
"""

import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Optional

from leadline import _region

if TYPE_CHECKING:
    from leadline._torch_profile import Averages, Profile

__all__ = ["Averages", "Profile", "profile", "step", "trace_handler"]

STEP = "training step"
_AMOUNTS = "\x1f"  # between the name of a step and how much it took in

_begins: Dict[int, int] = {}  # when the step in progress began, by thread


def step(samples: int = 0, tokens: int = 0) -> None:
    """Ends a step of a training that took in so many samples and tokens, and begins the next.

    The first call only begins one: when the step before it began is not known."""
    if not _region.is_recording():
        if _begins:
            _begins.clear()
        return
    if samples < 0 or tokens < 0:
        raise ValueError("samples and tokens of a step cannot be negative")
    now, thread = time.monotonic_ns(), threading.get_native_id()
    begin = _begins.get(thread)
    _begins[thread] = now
    if begin is not None:
        _region.tell(begin, now - begin, thread, f"{STEP}{_AMOUNTS}{int(samples)}{_AMOUNTS}{int(tokens)}")


def profile(*, activities: Optional[Iterable[Any]] = None, schedule: Optional[Callable[[int], Any]] = None, on_trace_ready: Optional[Callable[..., Any]] = None,
            record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
            **others: Any) -> "Profile":
    """A torch.profiler.profile, with all its arguments and methods, whose tables leadline makes."""
    given = {"activities": activities, "schedule": schedule, "on_trace_ready": on_trace_ready, "record_shapes": record_shapes, "profile_memory": profile_memory,
             "with_stack": with_stack, "with_flops": with_flops, "with_modules": with_modules}
    made: Profile = _later("Profile")(**given, **others)
    return made


def trace_handler(folder: str, worker: Optional[str] = None, *, gzip: bool = False) -> Callable[[Any], None]:
    """For on_trace_ready: writes each trace into a folder, where `leadline report` and other tools read them.

    The names are those of torch's tensorboard_trace_handler."""

    def write(prof: Any) -> None:
        import os
        import socket

        os.makedirs(folder, exist_ok=True)
        who = worker or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(folder, f"{who}.{time.time_ns()}.pt.trace.json{'.gz' if gzip else ''}"))

    return write


def _later(name: str) -> Any:
    """What needs torch."""
    try:
        from leadline import _torch_profile
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("torch"):
            raise
        from leadline._host import Error

        raise Error("there is no torch in this environment; install it, or remove leadline.torch.profile()", 5) from error
    return getattr(_torch_profile, name)


def __getattr__(name: str) -> Any:
    if name not in ("Averages", "Profile"):
        raise AttributeError(f"module 'leadline.torch' has no attribute '{name}'")
    return _later(name)
