"""Shaping of tool results, one file a kind of content."""

from contextctl.core.shaping.shape import shape_result
from contextctl.core.shaping.unwrap import unwrapped
from contextctl.model.shaping import ShapeCall, Shaped, ShapeRule

__all__ = ["ShapeCall", "ShapeRule", "Shaped", "shape_result", "unwrapped"]
