"""Results in types that JSON has, and back: one converter for regions, certificates and audit records."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar, get_origin

import cattrs
import numpy as np
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.settings import Settings
from lime_guarantee.space.ball import Ball
from lime_guarantee.space.box import Box
from lime_guarantee.space.coordinate import coordinate_from_dict
from lime_guarantee.space.cube import Cube
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.tables import from_json, plain, to_json
from lime_guarantee.support.arrays import FloatArray

Result = TypeVar("Result")


def _raw(value: Any, _: Any = None) -> Any:
    """A raw value that was written down: lists were tuples, and NaN was an object."""
    return tuple(map(_raw, value)) if isinstance(value, list) else from_json(value)


def _written(value: Any) -> Any:
    """A raw value, or raw values, as JSON can hold them."""
    return [_written(v) for v in value] if isinstance(value, list | tuple) else to_json(plain(value))


def _is_raw(kind: Any) -> bool:
    return kind in (Any, Hashable)


def _is_array(kind: Any) -> bool:
    return get_origin(kind) is np.ndarray


converter = cattrs.Converter(forbid_extra_keys=True)
"""Knows what dataclasses alone do not tell: arrays, raw values with NaN, domains, settings."""

for _kind in (Domain, Settings):
    converter.register_unstructure_hook(_kind, lambda value: value.to_dict())
    converter.register_structure_hook(_kind, lambda data, kind: kind.from_dict(data))
converter.register_unstructure_hook(float, to_json)
converter.register_unstructure_hook_func(_is_array, lambda array: [to_json(v) for v in array.tolist()])
converter.register_structure_hook_func(_is_array, _raw)
converter.register_unstructure_hook_func(_is_raw, _written)
converter.register_structure_hook_func(_is_raw, _raw)


def leaves_out(kind: type, *names: str) -> None:
    """Let some fields of a result never be written; they have defaults."""
    left: dict[str, Any] = {name: override(omit=True) for name in names}
    converter.register_unstructure_hook(kind, make_dict_unstructure_fn(kind, converter, **left))
    converter.register_structure_hook(
        kind, make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, **left)
    )


def to_plain(result: Any) -> dict[str, Any]:
    """A result in types that JSON has."""
    data: dict[str, Any] = converter.unstructure(result)
    return data


def from_plain(data: Mapping[str, Any], kind: type[Result]) -> Result:
    """The result that `to_plain` described.

    Raises
    ------
    InvalidInputError
        If it is none of this kind, or of another version.
    """
    try:
        return converter.structure(data, kind)
    except cattrs.BaseValidationError as error:
        said = "; ".join(cattrs.transform_error(error))
        version = data.get("version", "unknown") if isinstance(data, Mapping) else "unknown"
        raise InvalidInputError(f"data: not a {kind.__name__} of version {version}: {said}.") from error


def shape_to_dict(shape: Box | Ball) -> dict[str, Any]:
    """A shape and the coordinates of its cube, in types that JSON has.

    Raises
    ------
    InvalidInputError
        If the cube is more than its coordinates: rows of data are never written down.
    """
    if type(shape.cube) is not Cube:
        raise InvalidInputError(
            "knots: the measure of this region is made of rows of the data, which are not written down. "
            "Leave knots= out."
        )
    coordinates = [coordinate.to_dict() for coordinate in shape.cube.coordinates]
    if isinstance(shape, Ball):
        return {"radius": shape.radius, "kept": shape.kept, "coordinates": coordinates}
    return {"lower": shape.lower.tolist(), "upper": shape.upper.tolist(), "coordinates": coordinates}


def shape_from_dict(data: Mapping[str, Any], domain: Domain, instance: FloatArray) -> Box | Ball:
    """The shape that `shape_to_dict` described, in the cube of a domain seen from an instance."""
    cube = Cube(domain, tuple(map(coordinate_from_dict, data["coordinates"])), instance)
    if "radius" in data:
        return Ball(data["radius"], cube, data["kept"])
    return Box(np.array(data["lower"]), np.array(data["upper"]), cube)


def to_text(data: Mapping[str, Any]) -> str:
    """A result in plain types as JSON."""
    try:
        return json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the result cannot be written as JSON: {error}. Categories must be text, numbers, booleans or "
            "None; encode the others before."
        ) from error
