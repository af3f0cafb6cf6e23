"""A pickle read as data: an interpreter of its instructions that has no way to import or call anything.

Python's own unpickler imports what the file names and, with one damaged byte, reserves any amount of memory: the
number of a memo entry, or a length, decides about it. Here lengths are compared with the file by `pickletools`, the
memo is a dict, and the number of instructions is limited.
"""

import pickletools
from collections.abc import Callable, Mapping
from typing import Any

# Instructions by their names in `pickletools`, whose documentation says what each does.
_LITERALS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NUMBERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT")
_TEXTS = ("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8")
_ARGUMENTS = frozenset([*_NUMBERS, *_TEXTS])
_PYTHON_2_STRINGS = frozenset(["STRING", "BINSTRING", "SHORT_BINSTRING"])
_EMPTY: Mapping[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_GETS, _PUTS = frozenset(["GET", "BINGET", "LONG_BINGET"]), frozenset(["PUT", "BINPUT", "LONG_BINPUT"])
_IGNORED = frozenset(["PROTO", "FRAME", "STOP"])

# CIFAR-100 has a fifth of that. One byte can be an instruction that makes a list of 60 bytes.
MAX_INSTRUCTIONS = 1_000_000

Function = Callable[..., Any]


class UnknownName(Exception):
    """The pickle names something that is not among the functions it may name."""


def load(data: bytes, functions: Mapping[str, Function]) -> Any:
    """The object that the pickle describes, of dicts, lists, tuples, numbers, texts and bytes.

    Args:
        data: the pickle.
        functions: what it may name, as "module.name"; each is called with what the pickle gives it, and what it
            returns gets the state that the pickle gives it by a method ``set_state``; `UnknownName` for others.

    Strings of Python 2 are bytes. A pickle with other instructions, or a damaged one, raises some exception.

    >>> import pickle
    >>> load(pickle.dumps({"labels": [3, 1], "name": "x"}), {})
    {'labels': [3, 1], 'name': 'x'}
    """
    interpreter = _Interpreter(functions)
    for number, (instruction, argument, _) in enumerate(pickletools.genops(data)):
        if number == MAX_INSTRUCTIONS:
            raise ValueError("it has too many instructions")
        interpreter.run(instruction.name, argument)
    return interpreter.stack.pop()


class _Interpreter:
    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.stack: list[Any] = []
        self._marked: list[list[Any]] = []  # what was on the stack below each mark
        self._memo: dict[int, Any] = {}
        self._functions = functions

    def run(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _ARGUMENTS:
            stack.append(argument)
        elif name in _PUTS:
            self._memo[int(argument)] = stack[-1]
        elif name in _GETS:
            stack.append(self._memo[int(argument)])
        elif name in _LITERALS:
            stack.append(_LITERALS[name])
        elif name in _PYTHON_2_STRINGS:
            stack.append(argument.encode("latin-1"))
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            values = [stack.pop() for _ in range(_TUPLES[name])]
            stack.append(tuple(reversed(values)))
        elif name not in _IGNORED:
            _INSTRUCTIONS[name](self, argument)

    def since_mark(self) -> list[Any]:
        values, self.stack = self.stack, self._marked.pop()
        return values

    def mark(self, _: Any) -> None:
        self._marked.append(self.stack)
        self.stack = []

    def memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self.stack[-1]

    def pop(self, _: Any) -> None:
        self.stack.pop()

    def make_list(self, _: Any) -> None:
        values = self.since_mark()
        self.stack.append(values)

    def make_tuple(self, _: Any) -> None:
        values = self.since_mark()
        self.stack.append(tuple(values))

    def make_dict(self, _: Any) -> None:
        values = self.since_mark()
        self.stack.append({})
        self._set_items(values)

    def append(self, _: Any) -> None:
        value = self.stack.pop()
        self._list().append(value)

    def appends(self, _: Any) -> None:
        values = self.since_mark()
        self._list().extend(values)

    def set_item(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def set_items(self, _: Any) -> None:
        self._set_items(self.since_mark())

    def name_function(self, argument: Any) -> None:
        module, _, name = str(argument).rpartition(" ")
        self.stack.append(self._function(module, name))

    def name_function_on_stack(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(self._function(module, name))

    def call(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if function not in self._functions.values() or type(arguments) is not tuple:
            raise TypeError("only named functions are called")
        self.stack.append(function(*arguments))

    def set_state(self, _: Any) -> None:
        state = self.stack.pop()
        self.stack[-1].set_state(state)

    def _list(self) -> list[Any]:
        if type(self.stack[-1]) is not list:
            raise TypeError("only lists are appended to")
        values: list[Any] = self.stack[-1]
        return values

    def _set_items(self, values: list[Any]) -> None:
        target, keys = self.stack[-1], values[::2]
        # Other keys have hashes that take long to compute, such as tuples that hold one tuple many times.
        if type(target) is not dict or not all(type(key) in (str, bytes) for key in keys):
            raise TypeError("only dicts with names as keys")
        target.update(zip(keys, values[1::2], strict=True))

    def _function(self, module: Any, name: Any) -> Function:
        try:
            return self._functions[f"{module}.{name}" if type(module) is type(name) is str else ""]
        except KeyError:
            raise UnknownName(f"{module}.{name}"[:100]) from None


_INSTRUCTIONS: Mapping[str, Callable[[_Interpreter, Any], None]] = {
    "MARK": _Interpreter.mark,
    "MEMOIZE": _Interpreter.memoize,
    "POP": _Interpreter.pop,
    "LIST": _Interpreter.make_list,
    "TUPLE": _Interpreter.make_tuple,
    "DICT": _Interpreter.make_dict,
    "APPEND": _Interpreter.append,
    "APPENDS": _Interpreter.appends,
    "SETITEM": _Interpreter.set_item,
    "SETITEMS": _Interpreter.set_items,
    "GLOBAL": _Interpreter.name_function,
    "INST": _Interpreter.name_function,
    "STACK_GLOBAL": _Interpreter.name_function_on_stack,
    "REDUCE": _Interpreter.call,
    "BUILD": _Interpreter.set_state,
}
