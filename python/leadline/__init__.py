"""leadline: where a Python or PyTorch program is slow, why, and whether a change helped.

The tool is one static executable; this package finds it and says which version it is.

    python -m leadline time script.py    the same as: leadline time script.py
    leadline.find_binary()               where the executable is
"""

from leadline._binary import BinaryNotFound, find_binary, version

__all__ = ["BinaryNotFound", "__version__", "find_binary"]

__version__: str = version()
