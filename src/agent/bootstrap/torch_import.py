"""Waits for `import torch`, or of a part of it: run by sitecustomize before torch.py or torch_full.py, in the same globals.

The code of all of them bears the name of importlib's own file, so that tracebacks leave its frames out as they do importlib's.
"""

import sys

import _frozen_importlib as _bootstrap


class _Finder:
    """First in sys.meta_path until the module is found, and no longer. around(module, execute) has to call execute(module)."""

    def __init__(self, around, name="torch"):
        self.around, self.name = around, name

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        try:
            sys.meta_path.remove(self)
        except ValueError:
            return None
        spec = _bootstrap._find_spec(name, path, target)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            sys.meta_path.insert(0, self)  # it may come later
        else:
            spec.loader = _Loader(spec.loader, self)
        return spec


class _Loader:
    """Steps aside when the module is there."""

    def __init__(self, loader, finder):
        self._loader, self._finder = loader, finder

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        try:
            self._finder.around(module, self._loader.exec_module)
        except BaseException:
            sys.meta_path.insert(0, self._finder)
            raise
