"""Where modules are in the model they are part of: run by sitecustomize before torch.py or torch_full.py, in the same globals.

Reads attributes and calls nothing of the program's.
"""

_MODULES_MOST, _MODULES_DEPTH = 65536, 64


def _children(module, module_type):
    inner = object.__getattribute__(module, "__dict__").get("_modules") or {}
    return [(key, x) for key, x in list(inner.items()) if module_type in type(x).__mro__]


def _can_be_called(module, module_type):
    """Not so lists and dictionaries of modules, which only hold others."""
    for kind in type(module).__mro__:
        if "forward" in vars(kind):
            return kind is not module_type
    return False


class _Placer:
    """Tells the agent where the modules of a program are: each once, and when it dies."""

    def __init__(self, module_type):
        import weakref

        class Seen(weakref.ref):
            __slots__ = ("address",)

        self.type, self.reference = module_type, Seen
        self.seen = {}  # by address

    def is_seen(self, module):
        reference = self.seen.get(id(module))
        return reference is not None and reference() is module

    def see(self, module, parent, path):
        if self.is_seen(module):
            return
        reference = self.reference(module, agent.torch_module_gone)
        reference.address = id(module)
        self.seen[id(module)] = reference
        agent.torch_place_module(module, parent, path)

    def place_all(self, model):
        left, done = [(model, None, "", 0)], set()
        while left and len(self.seen) < _MODULES_MOST:
            module, parent, path, depth = left.pop()
            if id(module) in done or depth > _MODULES_DEPTH:
                continue
            done.add(id(module))
            if _can_be_called(module, self.type):
                self.see(module, parent, path)
                parent = module
            left.extend((x, parent, path + "." + key if path else key, depth + 1) for key, x in reversed(_children(module, self.type)))

    def place_running(self):
        """Of what runs the outer ones first: others are in them, as a rule."""
        try:
            for module in reversed(agent.torch_modules()):
                if self.type in type(module).__mro__:
                    self.place_all(module)
        except Exception:
            pass  # they are shown by their class alone

    def forget(self):
        self.seen.clear()
