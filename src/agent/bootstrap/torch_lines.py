"""What torch's profiler knows of Python and does not write into its traces: from which lines functions were called, where modules are in
the model, and names of regions that it would spoil. Joined to a trace as one more key of its object, `leadline_lines`.

Run by sitecustomize after torch_modules.py and before torch_full.py, in the same globals. Reads what there is and calls nothing of the program's. The shape of the
value is told in analyze/torch/lines.h.
"""

_MOST = 1000000  # calls; a trace that has more keeps the first
_SOURCE_BYTES = 4 << 20

# operators that Python's own signs call, without a call that the profiler would see
_SIGNS = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "MatMult": "matmul", "Pow": "pow", "FloorDiv": "floor_divide", "Mod": "remainder",
          "BitAnd": "bitwise_and", "BitOr": "bitwise_or", "BitXor": "bitwise_xor", "USub": "neg", "Invert": "bitwise_not"}
_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
_INDEXED = ("select", "slice", "index", "index_put_", "copy_", "fill_", "unsqueeze", "alias")


def _is_torch(file):
    return file.startswith(("torch/", "<string>", "contextlib.py", "typing.py", "functools.py", "<frozen ")) or "/site-packages/torch/" in file


# ---- signs: which line of a function calls an operator by one, where only one does


def _signs_of(node):
    """The operators that a piece of syntax may call."""
    kind = type(node).__name__
    if kind in ("BinOp", "UnaryOp"):
        return [_SIGNS.get(type(node.op).__name__)]
    if kind == "AugAssign":
        name = _SIGNS.get(type(node.op).__name__, "")
        return [name, name + "_"]
    return {"Compare": _COMPARED, "Subscript": _INDEXED}.get(kind, ())


def _signs_in(ast, body):
    """Operator: lines, of a function's own code."""
    lines, left = {}, list(body)
    while left:
        node = left.pop()
        for name in _signs_of(node):
            if name:
                lines.setdefault("aten::" + name, set()).add(node.lineno)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            left.extend(ast.iter_child_nodes(node))
    return lines


class _Sources:
    def __init__(self):
        self.trees = {}
        self.functions = {}

    def tree(self, file):
        import ast
        import os
        import sys

        if file not in self.trees:
            self.trees[file] = None
            for folder in [""] + [x for x in sys.path if isinstance(x, str)]:
                path = os.path.join(folder, file)
                if os.path.isfile(path) and os.path.getsize(path) <= _SOURCE_BYTES:
                    with open(path, "rb") as source:
                        self.trees[file] = ast.parse(source.read())
                    break
        return self.trees[file]

    def signs(self, file, line, function):
        """Of the one function of that name that begins there; of the one of that name where it ran before it was seen to begin."""
        import ast

        tree = self.tree(file)
        if tree is None:
            return {}
        if function == "<module>":
            return _signs_in(ast, tree.body)
        named = [x for x in ast.walk(tree) if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef)) and x.name == function]
        begun = [x for x in named if min([x.lineno] + [d.lineno for d in x.decorator_list]) == line]
        found = begun or named
        return _signs_in(ast, found[0].body) if len(found) == 1 else {}

    def line(self, file, line, function, operator):
        """0: not known."""
        key = file, line, function
        if key not in self.functions:
            try:
                self.functions[key] = self.signs(file, line, function)
            except Exception:
                self.functions[key] = {}
        lines = self.functions[key].get(operator, ())
        return next(iter(lines)) if len(lines) == 1 else 0


# ---- modules


def _paths(seen):
    """Names of modules, "Linear_0", as attributes of the model they are in. `seen`: address: (name, type)."""
    import gc
    import sys

    module_type = sys.modules["torch"].nn.Module
    found = {id(x): x for x in gc.get_objects() if module_type in type(x).__mro__}
    below = {id(child) for x in found.values() for _, child in _children(x, module_type)}
    paths = {}
    left = [(x, "", 0) for number, x in found.items() if number not in below]
    while left:
        module, path, depth = left.pop()
        name, type_name = seen.get(id(module), (None, None))
        if name is not None and type_name == type(module).__name__ and path:
            paths.setdefault(name, path)
        if depth < 64:
            left.extend((x, path + "." + key if path else key, depth + 1) for key, x in reversed(_children(module, module_type)))
    return paths


# ---- events


class _Lines:
    def __init__(self):
        self.texts = {}
        self.calls, self.ops, self.names = [], [], []  # (start, number of a text), (start, name)
        self.modules = {}
        self.sources = _Sources()

    def number(self, file, line, function):
        return self.texts.setdefault("%s(%d): %s" % (file, line, function), len(self.texts))

    def take_call(self, event, fields):
        caller = fields.caller
        if caller.line_number > 0 and len(self.calls) < _MOST and not _is_torch(caller.file_name):
            self.calls.append((event.start_time_ns, self.number(caller.file_name, caller.line_number, caller.function_name)))

    def take_module(self, event, fields):
        if fields.module is not None and event.name.startswith("nn.Module: "):
            self.modules[fields.module.self_ptr] = event.name[len("nn.Module: "):], fields.module.cls_name

    def take_operator(self, event, function):
        """function: the Python function it was called in, by no call; or None."""
        if not event.name.isascii() or not event.name.isprintable() or "\\" in event.name or '"' in event.name:
            self.names.append((event.start_time_ns, event.name))
        if function is None or _is_torch(function.file_name):
            return
        line = self.sources.line(function.file_name, function.line_number, function.function_name, event.name)
        if line and len(self.ops) < _MOST:
            self.ops.append((event.start_time_ns, self.number(function.file_name, line, function.function_name)))

    def take_all(self, tree, kind):
        left = [(event, None) for event in tree]
        while left:
            event, function = left.pop()
            what, fields = event.typed
            inner = None
            if what == kind.PyCall:
                self.take_call(event, fields)
                self.take_module(event, fields)
                inner = None if fields.module is not None else fields.callsite
            elif what == kind.PyCCall:
                self.take_call(event, fields)
            elif what == kind.TorchOp:
                self.take_operator(event, function)
            left.extend((child, inner) for child in event.children)


def _columns(pairs):
    """Times as steps from one to the next."""
    flat, last = [], 0
    for start, value in sorted(pairs):
        flat += [start - last, value]
        last = start
    return flat


def _lines_of(prof):
    """The JSON of the value, or None."""
    import json
    import sys

    lines = _Lines()
    lines.take_all(prof.profiler.kineto_results.experimental_event_tree(), sys.modules["torch"]._C._profiler._EventType)
    try:
        paths = _paths(lines.modules)
    except Exception:
        paths = {}
    if not lines.calls and not lines.ops and not lines.names:
        return None
    return json.dumps({"places": list(lines.texts), "calls": _columns(lines.calls), "ops": _columns(lines.ops), "names": _columns(lines.names), "modules": paths},
                      separators=(",", ":"))


def _join_lines(prof, path):
    """Into the trace, in place of the brace at its end."""
    value = _lines_of(prof)
    if value is None:
        return
    with open(path, "r+b") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 64))
        tail = file.read()
        brace = tail.rfind(b"}")
        if brace < 0 or tail[brace + 1:].strip():
            return
        file.seek(size - len(tail) + brace)
        file.write(b',\n"leadline_lines": ' + value.encode() + b"\n}\n")
        file.truncate()
