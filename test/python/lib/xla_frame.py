"""What XLA hands to a handler, made by hand: xla/ffi/api/c_api.h in ctypes. A host that says which
device and stream, and keeps errors."""

from __future__ import annotations

import ctypes
from typing import Any

TYPES = {"i32": 4, "u8": 6, "f16": 10, "f32": 11, "f64": 12, "bf16": 16}
INSTANTIATE, PREPARE, INITIALIZE, EXECUTE = range(4)
SCALAR, STRING = 3, 4
_POINTER, _I64, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int


class _Base(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", _POINTER)]


class Buffer(_Base):
    _fields_ = [("dtype", _INT), ("data", _POINTER), ("rank", _I64), ("dims", ctypes.POINTER(_I64))]


class Span(ctypes.Structure):
    _fields_ = [("address", _POINTER), ("length", ctypes.c_size_t)]

    @property
    def text(self) -> str:
        return ctypes.string_at(self.address, self.length).decode()


class Scalar(ctypes.Structure):
    _fields_ = [("dtype", _INT), ("value", _POINTER)]


class _Buffers(_Base):
    _fields_ = [
        ("size", _I64),
        ("types", ctypes.POINTER(_INT)),
        ("buffers", ctypes.POINTER(_POINTER)),
    ]


class _Attributes(_Base):
    _fields_ = [
        ("size", _I64),
        ("types", ctypes.POINTER(_INT)),
        ("names", ctypes.POINTER(ctypes.POINTER(Span))),
        ("values", ctypes.POINTER(_POINTER)),
    ]


class Version(_Base):
    _fields_ = [("major", _INT), ("minor", _INT)]


class _Created(_Base):
    _fields_ = [("message", ctypes.c_char_p), ("code", _INT)]


class _OfContext(_Base):
    """The types that a context is asked for; the answer has the size of what was asked."""

    _fields_ = [("context", _POINTER), ("answer", _POINTER)]


_CREATE = ctypes.CFUNCTYPE(_POINTER, ctypes.POINTER(_Created))
_ASK = ctypes.CFUNCTYPE(_POINTER, ctypes.POINTER(_OfContext))


class _Api(_Base):
    _fields_ = [
        ("version", Version),
        ("internal", _POINTER),
        ("create_error", _CREATE),
        ("errors", _POINTER * 2),
        ("register", _POINTER),
        ("stream", _ASK),
        ("others", _POINTER * 12),
        ("device", _ASK),
    ]


class Frame(_Base):
    _fields_ = [
        ("api", ctypes.POINTER(_Api)),
        ("context", _POINTER),
        ("stage", _INT),
        ("operands", _Buffers),
        ("results", _Buffers),
        ("attributes", _Attributes),
        ("future", _POINTER),
    ]


class _Metadata(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("version", Version), ("traits", ctypes.c_uint32)]


class Extension(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("kind", _INT),
        ("next", _POINTER),
        ("metadata", ctypes.POINTER(_Metadata)),
    ]


class Host:
    """device: None, as where there is no GPU; then it fails as XLA does."""

    def __init__(self, device: int | None = 0, stream: int = 0, minor: int = 5) -> None:
        self.device, self.stream, self.errors = device, stream, []
        self._api = _Api(ctypes.sizeof(_Api), None, Version(ctypes.sizeof(Version), None, 0, minor))
        self._api.create_error, self._api.stream, self._api.device = (
            _CREATE(self._create),
            _ASK(self._say_stream),
            _ASK(self._say_device),
        )

    def call(
        self,
        handler: Any,
        stage: int,
        operands: list[Any],
        results: list[Any],
        attributes: dict[str, Any],
    ) -> tuple[int, str] | None:
        """Operands and results as (type, shape, address). What the handler failed with: a code of
        absl, and why."""
        keep: list[Any] = []
        frame = Frame(
            ctypes.sizeof(Frame),
            None,
            ctypes.pointer(self._api),
            None,
            stage,
            _buffers(operands, keep),
            _buffers(results, keep),
            _attributes(attributes, keep),
        )
        return self._returned(handler(ctypes.byref(frame)))

    def metadata(self, handler: Any) -> tuple[int, int, int]:
        """What the handler says of itself: versions and traits."""
        asked = _Metadata(ctypes.sizeof(_Metadata), Version(ctypes.sizeof(Version)))
        extension = Extension(ctypes.sizeof(Extension), 1, None, ctypes.pointer(asked))
        frame = Frame(ctypes.sizeof(Frame), ctypes.addressof(extension), ctypes.pointer(self._api))
        assert handler(ctypes.byref(frame)) is None
        return asked.version.major, asked.version.minor, asked.traits

    def _returned(self, error: int | None) -> tuple[int, str] | None:
        return None if error is None else self.errors[error - 1]

    def _create(self, given: Any) -> int:
        return self._fail(given.contents.code, given.contents.message.decode())

    def _fail(self, code: int, message: str) -> int:
        self.errors.append((code, message))
        return len(self.errors)

    def _say_stream(self, asked: Any) -> int | None:
        if self.stream < 0:
            return self._fail(12, "there is no stream")
        asked.contents.answer = self.stream
        return None

    def _say_device(self, asked: Any) -> int | None:
        if self.device is None:
            return self._fail(12, "there is no device")
        ctypes.c_int32.from_address(
            ctypes.addressof(asked.contents) + _OfContext.answer.offset
        ).value = self.device
        return None


def _buffers(given: list[Any], keep: list[Any]) -> _Buffers:
    found = [
        Buffer(
            ctypes.sizeof(Buffer),
            None,
            TYPES[dtype],
            address,
            len(shape),
            (_I64 * len(shape))(*shape),
        )
        for dtype, shape, address in given
    ]
    keep += found
    pointers = (_POINTER * len(found))(*map(ctypes.addressof, found))
    return _Buffers(
        ctypes.sizeof(_Buffers), None, len(found), (_INT * len(found))(*[1] * len(found)), pointers
    )


def _attributes(given: dict[str, Any], keep: list[Any]) -> _Attributes:
    names, types, values = [], [], []
    for name, value in sorted(given.items()):
        names.append(ctypes.pointer(_span(name, keep)))
        types.append(STRING if isinstance(value, str) else SCALAR)
        number = ctypes.c_float(0 if isinstance(value, str) else value)
        values.append(
            _span(value, keep)
            if isinstance(value, str)
            else Scalar(TYPES["f32"], ctypes.addressof(number))
        )
        keep += (names[-1], values[-1], number)
    count = len(names)
    return _Attributes(
        ctypes.sizeof(_Attributes),
        None,
        count,
        (_INT * count)(*types),
        (ctypes.POINTER(Span) * count)(*names),
        (_POINTER * count)(*map(ctypes.addressof, values)),
    )


def _span(text: str, keep: list[Any]) -> Span:
    keep.append(ctypes.create_string_buffer(text.encode()))
    return Span(ctypes.addressof(keep[-1]), len(text.encode()))
