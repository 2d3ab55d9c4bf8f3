"""217 made-up orders and four functions to look into them. Same call, same answer."""

from __future__ import annotations

from typing import Any

STATUSES = ("pending", "shipped", "delivered", "returned")
CITIES = ("Leipzig", "Porto", "杭州", "Kraków", "Aarhus", "大阪")
COUNT = 217


def list_orders(status: str = "") -> dict[str, Any]:
    """All orders, newest first; with `status`, only those in it (pending, shipped, ...)."""
    found = [_order(n) for n in range(COUNT, 0, -1)]
    rows = [order for order in found if not status or order["status"] == status]
    return {"items": rows, "total": len(rows)}


def count_orders(status: str = "") -> dict[str, Any]:
    """How many orders there are; with `status`, how many are in it."""
    return {"status": status or "any", "count": list_orders(status)["total"]}


def get_order(order_id: str) -> dict[str, Any]:
    """One order with all its fields."""
    for number in range(1, COUNT + 1):
        if _id(number) == order_id:
            return _order(number)
    return {"error": "not_found", "order_id": order_id}


def carrier_log(order_id: str) -> str:
    """What the carrier's scanners said about an order, oldest line first."""
    lines = [
        f"2026-11-{1 + hour // 24:02d}T{hour % 24:02d}:00Z scanner={hour * 37 % 97:02d} "
        f"order={order_id} belt={hour % 9} weight_g={900 + hour * 13 % 50} ok"
        for hour in range(400)
    ]
    lines[211] = f"2026-11-09T19:00Z scanner=56 order={order_id} EXCEPTION damp label, code DL-7714"
    return "\n".join(lines)


def _id(number: int) -> str:
    return f"PX-{10_000 + number}"


def _status(number: int) -> str:
    """57 of the 217 are pending."""
    return "pending" if number % 15 in {0, 4, 8, 12} else STATUSES[1 + number % 3]


def _order(number: int) -> dict[str, Any]:
    cents = 1_900 + number * 733 % 20_000
    city = CITIES[number % len(CITIES)]
    return {
        "id": _id(number),
        "status": _status(number),
        "total": f"{cents / 100:.2f}",
        "currency": "EUR",
        "customer": {"id": 7_000 + number, "name": f"Customer {number}", "segment": "retail"},
        "items": [{"sku": f"BX-{number * 7 % 900}", "quantity": 1 + number % 3, "weight_g": 940}],
        "address": {"city": city, "street": f"Street {number}", "zip": f"{10_000 + number * 31}"},
        "created": f"2026-11-{1 + number % 28:02d}",
        "updated": f"2026-11-{1 + (number + 2) % 28:02d}",
        "warehouse": f"W{number % 5}",
        "carrier": ("north", "blue", "swift")[number % 3],
        "parcel": f"00340434{number:012d}",
        "priority": number % 2 == 0,
        "gift": False,
        "channel": "web",
        "coupon": None,
        "tax_rate": "0.20",
        "tax": f"{cents / 600:.2f}",
        "shipping": "4.90",
        "insured": number % 11 == 0,
        "notes": "",
        "attempts": number % 3,
        "batch": f"B-{number // 20}",
        "etag": f"{number * 2_654_435_761 % 2**32:08x}",
    }
