"""leadline: where a Python or PyTorch program is slow, why, and whether a change helped.

The tool is one static executable; this package finds it, and lets a program record itself.

    with leadline.sample() as s:         the sampler, on this process
        work()
    s.print_stats(); s.save("x.lead")

    with leadline.region("load"):        a span that every recording shows; costs nothing without one

    python -m leadline time script.py    the same as: leadline time script.py
    leadline.find_binary()               where the executable is
"""

from typing import TYPE_CHECKING, Any

from leadline._host import Error
from leadline._region import Region, region
from leadline._sampler import Recorder, Sampler, sample

if TYPE_CHECKING:
    from leadline._binary import BinaryNotFound, find_binary

    __version__: str

__all__ = ["BinaryNotFound", "Error", "Recorder", "Region", "Sampler", "__version__", "find_binary", "region", "sample"]


def __getattr__(name: str) -> Any:
    """What few programs ask for is imported then: it would double the time this package takes to import."""
    if name not in ("BinaryNotFound", "__version__", "find_binary"):
        raise AttributeError(f"module 'leadline' has no attribute '{name}'")
    from leadline import _binary

    return _binary.version() if name == "__version__" else getattr(_binary, name)
