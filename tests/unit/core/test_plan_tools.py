"""The plan: dependencies, what is done stays done, briefs that say what changed."""

from __future__ import annotations

from contextctl.core.fold.tasks import Ledger, after, current_item, ledger_of, make_brief, progress
from contextctl.core.tools.plan import finish_stage, saved_output, write_todo
from contextctl.model.message import JsonObject
from contextctl.model.record import BriefMade, OutputSaved, Todo, TodoSet


def wrote(*items: JsonObject, before: Ledger | None = None) -> tuple[JsonObject, Ledger]:
    ledger = before or Ledger()
    answered = write_todo({"items": [*items]}, ledger, "en")
    for event in answered.facts:
        ledger = after(ledger, event)
    return answered.answer, ledger


def finished(ledger: Ledger, item: str, **more: str) -> tuple[JsonObject, Ledger]:
    answered = finish_stage({"item": item, **more}, ledger, "en")
    for event in answered.facts:
        ledger = after(ledger, event)
    return answered.answer, ledger


THREE = ({"text": "read"}, {"text": "write", "after": ["1"]}, {"text": "send", "after": ["2"]})


def test_items_get_their_places_as_ids_and_the_first_is_active() -> None:
    answer, ledger = wrote(*THREE)
    assert answer == {"plan": "0 of 3 done, now 1: read"}
    assert [(i.id, i.status) for i in ledger.items] == [
        ("1", "active"), ("2", "pending"), ("3", "pending"),
    ]  # fmt: skip


def test_an_item_is_not_done_before_what_it_comes_after() -> None:
    _, ledger = wrote(*THREE)
    answer, same = finished(ledger, "3")
    assert answer == {"error": "not_yet", "item": "3", "first": ["2"]}
    assert same == ledger
    _, ledger = finished(ledger, "1")
    assert current_item(ledger.items).id == "2"  # type: ignore[union-attr]


def test_what_is_done_stays_done() -> None:
    _, ledger = wrote(*THREE)
    _, ledger = finished(ledger, "1", note="12 pages")
    answer, same = wrote({"id": "1", "text": "read", "status": "pending"}, before=ledger)
    assert answer["error"] == "done_stays_done"
    assert same == ledger
    _, fresh = wrote({"id": "9", "text": "something else"}, before=ledger)
    assert [(i.id, i.status, i.note) for i in fresh.items] == [
        ("1", "done", "12 pages"), ("9", "active", ""),
    ]  # fmt: skip


def test_a_failed_item_lets_nothing_pass_that_needs_it_and_other_work_goes_on() -> None:
    _, ledger = wrote(*THREE, {"text": "tidy"})
    answer, ledger = finished(ledger, "1", status="failed", note="no access")
    assert answer["plan"] == "0 of 4 done, 1 failed, now 4: tidy"


def test_a_whole_is_done_when_its_parts_are() -> None:
    _, ledger = wrote(
        {"id": "a", "text": "report"},
        {"id": "b", "text": "numbers", "parent": "a"},
        {"id": "c", "text": "words", "parent": "a"},
    )
    assert finished(ledger, "a")[0]["error"] == "not_yet"
    _, ledger = finished(ledger, "b")
    _, ledger = finished(ledger, "c")
    assert ledger.is_complete


def test_circles_strangers_and_doubles_are_refused() -> None:
    circle = ({"id": "a", "text": "x", "after": ["b"]}, {"id": "b", "text": "y", "after": ["a"]})
    assert "wait for each other: a, b" in str(wrote(*circle)[0]["hint"])
    assert "'z', which is no item" in str(wrote({"text": "x", "after": ["z"]})[0]["hint"])
    double = wrote({"id": "a", "text": "x"}, {"id": "a", "text": "y"})
    assert "two items have the id 'a'" in str(double[0]["hint"])
    assert wrote({"id": "a"})[0]["error"] == "bad_arguments"


def test_ending_an_item_twice_changes_nothing() -> None:
    _, ledger = wrote(*THREE)
    _, ledger = finished(ledger, "1")
    answer, same = finished(ledger, "1")
    assert "error" not in answer
    assert same == ledger
    assert finished(ledger, "7")[0]["error"] == "unknown_item"


def test_a_brief_says_what_has_changed_since_the_last_one() -> None:
    items = (Todo("read", "done", "1"), Todo("write", "active", "2"), Todo("send", id="3"))
    ledger = ledger_of(
        [
            TodoSet(items),
            BriefMade("…"),
            OutputSaved("2", "draft.md", "s1-abc"),
            TodoSet((items[0], Todo("write", "done", "2", note="4 pages"), items[2],
                     Todo("bill", id="4"))),
        ]
    )  # fmt: skip
    assert make_brief(ledger) == (
        "done: 2 write (4 pages); new: 4 bill; saved: draft.md → s1-abc; 2 of 4 done, now 3: send"
    )
    assert progress(ledger.items, "zh") == "共 4 项，已完成 2 项，当前 3：send"


def test_outputs_belong_to_items_and_the_newest_of_a_name_counts() -> None:
    _, ledger = wrote(*THREE)
    assert saved_output("7", "x", "s1-a", ledger).answer["error"] == "unknown_item"
    for ref in ("s1-a", "s1-b"):
        for event in saved_output("1", "notes", ref, ledger).facts:
            ledger = after(ledger, event)
    assert [(o.name, o.ref) for o in ledger.outputs] == [("notes", "s1-b")]


def test_a_list_without_ids_meets_the_items_it_repeats() -> None:
    """As models write it: what is done left out or repeated, new items anywhere, no ids at all."""
    _, ledger = wrote({"text": "read"}, {"text": "write"}, {"text": "send"})
    _, ledger = finished(ledger, "1", note="12 pages")
    answer, dropped = wrote({"text": "write"}, {"text": "bill"}, {"text": "send"}, before=ledger)
    assert answer == {"plan": "1 of 4 done, now 2: write"}
    assert [(i.id, i.text, i.status) for i in dropped.items] == [
        ("1", "read", "done"), ("2", "write", "active"), ("4", "bill", "pending"),
        ("3", "send", "pending"),
    ]  # fmt: skip
    _, again = wrote(
        {"text": "read", "status": "completed"}, {"text": "write", "status": "in_progress"},
        {"text": "bill"}, {"text": "send"}, before=dropped,
    )  # fmt: skip
    assert again.items == dropped.items


def test_two_items_of_one_text_stay_two() -> None:
    _, ledger = wrote({"text": "call"}, {"text": "wait"}, {"text": "call"})
    _, again = wrote({"text": "call"}, {"text": "wait"}, {"text": "call"}, before=ledger)
    assert again.items == ledger.items


def test_an_item_whose_first_is_done_and_left_out_still_stands() -> None:
    _, ledger = wrote({"id": "a", "text": "A"}, {"id": "b", "text": "B", "after": ["a"]})
    _, ledger = finished(ledger, "a")
    answer, ledger = wrote({"id": "b", "text": "B, better"}, before=ledger)
    assert answer == {"plan": "1 of 2 done, now b: B, better"}


def test_a_plan_is_not_emptied_and_nothing_is_done_ahead_of_its_time() -> None:
    _, ledger = wrote(*THREE)
    answer, same = wrote(before=ledger)
    assert (answer["error"], answer["open_items"]) == ("bad_plan", ["1", "2", "3"])
    assert same == ledger
    answer, same = wrote(
        {"id": "1", "text": "read"}, {"id": "3", "text": "send", "status": "done"}, before=ledger
    )
    assert answer["error"] == "bad_plan"  # 3 comes after 2, which the list leaves out
    answer, same = wrote(*THREE[:2], {"id": "3", "text": "send", "status": "done"}, before=ledger)
    assert answer == {"error": "not_yet", "item": "3", "first": ["2"]}
    assert same == ledger
