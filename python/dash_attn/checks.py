"""What a kernel demands of its tensors, checked before anything is written. All messages are ArgumentErrors."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import ArgumentError
from .manifest import Manifest, TensorSpec
from .tensors import Tensor


def bind_sizes(manifest: Manifest, tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """The sizes that the tensors' shapes give. Checks types, devices, ranks, shapes, limits and constraints."""
    sizes: dict[str, int] = {}
    given_by: dict[str, str] = {}
    device = None
    for name, spec in manifest.tensors.items():
        tensor = tensors[name]
        if tensor.dtype != spec.element:
            raise ArgumentError(f"{name}: expected elements of {spec.element}, found {tensor.dtype}")
        device = tensor.device if device is None else device
        if tensor.device != device:
            first = next(iter(manifest.tensors))
            raise ArgumentError(f"{name}: expected device {device} as for {first}, found device {tensor.device}")
        if len(tensor.shape) != len(spec.shape) or len(tensor.strides) != len(spec.shape):
            raise ArgumentError(f"{name}: expected the dimensions {_spelled(spec)}, found shape {tensor.shape} "
                                f"with {len(tensor.strides)} strides")
        for expected, found in zip(spec.shape, tensor.shape):
            if expected.text not in manifest.sizes:
                value = expected(sizes)
            else:
                value = sizes.setdefault(expected.text, found)
                given_by.setdefault(expected.text, name)
            if found != value:
                wanted = f"{expected.text} = {value} as in {given_by[expected.text]}" if expected.text in given_by \
                    else str(value)
                raise ArgumentError(f"{name}: expected {wanted}, found {found} "
                                    f"in shape {tensor.shape} of {_spelled(spec)}")
    if not writes_nothing(manifest, tensors):
        _check_limits(manifest, sizes)
    return sizes


def writes_nothing(manifest: Manifest, tensors: Mapping[str, Tensor]) -> bool:
    """True if every output is empty; a call then does nothing, whatever the sizes."""
    return all(tensors[name].is_empty for name, spec in manifest.tensors.items() if spec.is_written)


def _check_limits(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    for name, value in sizes.items():
        size = manifest.sizes[name]
        if size.minimum <= value <= size.maximum:
            continue
        limits = str(size.minimum) if size.minimum == size.maximum else f"{size.minimum} to {size.maximum}"
        hint = f"; its order is a table for stated sizes, made for others by: {manifest.order.command}" \
            if manifest.order.command else ""
        raise ArgumentError(f"'{manifest.name}' serves {name} = {limits}, found {value}{hint}")
    values = manifest.values(sizes)
    for constraint in manifest.constraints:
        value = constraint.expression(values)
        if value != constraint.equals:
            named = ", ".join(f"{name} = {values[name]}" for name in sorted(constraint.expression.names))
            raise ArgumentError(f"{constraint.message}; found {named}")


def check_strides(manifest: Manifest, tensors: Mapping[str, Tensor]) -> None:
    """Rows in one piece, strides that the hardware can step by, and no output that meets itself."""
    for name, spec in manifest.tensors.items():
        tensor = tensors[name]
        if tensor.is_empty:
            continue
        if tensor.shape[-1] > 1 and tensor.strides[-1] != 1:
            raise ArgumentError(f"{name}: expected the innermost dimension to be contiguous, found a stride of "
                                f"{tensor.strides[-1]} elements; pass a contiguous copy")
        for size, stride in list(zip(tensor.shape, tensor.strides))[:-1]:
            if size > 1 and (stride <= 0 or stride % spec.stride_multiple):
                raise ArgumentError(f"{name}: expected strides that are positive multiples of {spec.stride_multiple} "
                                    f"elements, found {tensor.strides} for shape {tensor.shape}")
        if spec.is_written and _meets_itself(tensor):
            raise ArgumentError(f"{name}: elements of an output share memory: strides {tensor.strides} for shape "
                                f"{tensor.shape}")


def check_addresses(manifest: Manifest, tensors: Mapping[str, Tensor]) -> None:
    """Alignment, and that no output shares memory with another tensor."""
    for name, spec in manifest.tensors.items():
        tensor = tensors[name]
        if tensor.is_empty:
            continue
        if tensor.pointer == 0:
            raise ArgumentError(f"{name}: expected memory, found a null pointer")
        if tensor.pointer % spec.alignment:
            raise ArgumentError(f"{name}: expected an address that is a multiple of {spec.alignment} bytes, found "
                                f"{tensor.pointer:#x}")
    # By first address: a tensor can only meet those that begin before it ends.
    ordered = sorted((tensor.pointer, tensor.end, name) for name, tensor in tensors.items() if not tensor.is_empty)
    for i, (_, end, name) in enumerate(ordered):
        for start, _, other in ordered[i + 1:]:
            if start >= end:
                break
            written = [n for n in (name, other) if manifest.tensors[n].is_written]
            if written and not are_disjoint(tensors[name], tensors[other]):
                output = written[0]
                rest = other if output == name else name
                raise ArgumentError(f"{output}: this output shares memory with {rest}")


def are_disjoint(a: Tensor, b: Tensor) -> bool:
    """True if the two provably share no byte: one lies behind the other, or they interleave, as slices of one packed tensor.

    Interleaved: for some period, a's bytes repeat with it and stay in one window of it, and b's in another.
    """
    if a.is_empty or b.is_empty or a.end <= b.pointer or b.end <= a.pointer:
        return True
    periods = {stride * tensor.itemsize for tensor in (a, b)
               for size, stride in zip(tensor.shape, tensor.strides) if size > 1}
    for period in periods:
        window_a, window_b = _window(a, period), _window(b, period)
        distance = (b.pointer - a.pointer) % period
        if window_a <= distance and distance + window_b <= period:
            return True
    return False


def _window(tensor: Tensor, period: int) -> int:
    """Bytes that the tensor needs in each period: those of all dimensions that do not step by whole periods."""
    steps = sum((size - 1) * stride * tensor.itemsize for size, stride in zip(tensor.shape, tensor.strides)
                if size > 1 and stride * tensor.itemsize % period)
    return steps + tensor.itemsize


def _meets_itself(tensor: Tensor) -> bool:
    """True unless each dimension steps over all that the finer ones reach."""
    reach = 1
    for stride, size in sorted((stride, size) for size, stride in zip(tensor.shape, tensor.strides) if size > 1):
        if stride < reach:
            return True
        reach += (size - 1) * stride
    return False


def _spelled(spec: TensorSpec) -> str:
    return "[" + ", ".join(item.text for item in spec.shape) + "]"
