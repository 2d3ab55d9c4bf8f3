"""Functions that tests load as tools, from this folder."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

calls: list[Any] = []


class Address(BaseModel):
    street: str
    zip: str | None = None


def order(
    order_id: str,
    when: date,
    kind: Literal["new", "used"] = "new",
    tags: list[str] | None = None,
    address: Address | None = None,
    count: Annotated[int, Field(ge=1, description="how many")] = 1,
    title: str = "",
) -> dict[str, Any]:
    """Place an order.

    It is sent the same day.

    Args:
        order_id: the number on the
            receipt
        when (date): the day of delivery

    Returns:
        what was ordered
    """
    calls.append(order_id)
    return {"id": order_id, "day": when.isoformat(), "street": address and address.street}


def sphinx(city: str, days: int = 1) -> str:
    """Forecast.

    :param city: where
    :param int days: how far ahead
    """
    return f"{city} {days}"


def ping() -> str:
    """Answer."""
    return "pong"


async def later(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "awake"


def block(seconds: float) -> str:
    time.sleep(seconds)
    return "awake"


def loud() -> str:
    print("this is for people")
    return "quiet"


def fails(message: str) -> str:
    raise ValueError(message)


def leaves() -> str:
    sys.exit(3)


def thread_name() -> str:
    return threading.current_thread().name


def anything(**options: Any) -> dict[str, Any]:
    return options


def positional(a: int, /) -> int:
    return a


not_a_function = 5
