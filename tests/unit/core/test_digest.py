"""What stays of steps that left the window."""

from __future__ import annotations

import json

from contextctl.core.digest.calls import call_form, outcome, own_text
from contextctl.core.digest.facts import extract_facts
from contextctl.core.digest.lines import DigestRule, StepFacts, digest_lines, segment_text
from contextctl.model.message import Message, ToolCall

NOWHERE = frozenset[str]().__contains__


def call(tool: str, **arguments: object) -> ToolCall:
    return ToolCall("c", tool, json.dumps(arguments, ensure_ascii=False))


def step(number: int, *calls: ToolCall, results: tuple[str, ...] = (), said: str = "") -> StepFacts:
    own = own_text(Message(role="assistant", content=said, tool_calls=calls))
    return StepFacts(
        number=number,
        said=said,
        calls=calls,
        results=results,
        own=extract_facts(own),
        seen=tuple(map(extract_facts, results)),
        tokens=200,
    )


def line(made: StepFacts, standing: frozenset[str] = frozenset()) -> str:
    return str(digest_lines((made,), standing.__contains__)[0])


def test_a_line_names_the_call_its_end_and_what_it_brought() -> None:
    got = step(
        12,
        call("get_order", order_id="SO-77123"),
        results=('{"status": "shipped",\n "tracking_id": "1Z999AA1"}',),
        said="Let me look.",
    )
    assert line(got) == (
        "12 get_order SO-77123 | status: shipped; tracking_id: 1Z999AA1 “Let me look.”"
    )


def test_a_short_argument_stands_whole_so_that_a_repeated_call_is_found() -> None:
    command = "cd /testbed && python -m pytest tests/test_a.py -xvs 2>&1 | tail -20"
    assert line(step(1, call("bash", command=command))).startswith(f"1 bash {command}")


def test_a_long_script_shows_its_start_and_its_last_line() -> None:
    script = "cat > fix.py << 'EOF'\n" + "print('x')\n" * 40 + "EOF\npython fix.py"
    text = call_form(call("bash", command=script)).plain
    assert text.startswith("bash cat > fix.py << 'EOF' print")
    assert text.endswith("… python fix.py")
    assert len(text) < 120


def test_long_arguments_beside_others_are_named_by_size_and_first_words() -> None:
    form = call_form(call("edit", path="src/a.py", old="one\ntwo\nthree", count=2))
    shown = (("path", "src/a.py"), ("old", "(3 lines) one two three"), ("count", "2"))
    assert form.arguments == shown


def test_arguments_that_are_no_json_still_make_a_line() -> None:
    assert call_form(ToolCall("c", "bash", '{"command": "ls')).plain == 'bash {"command": "ls'


def test_a_long_path_that_stands_elsewhere_shows_its_name() -> None:
    path = "packages/agent/src/theme/theme.ts"
    got = step(3, call("read", path=path))
    assert line(got) == f"3 read {path}"
    assert line(got, frozenset({path})) == "3 read …/theme.ts"


def test_a_repeated_call_is_marked() -> None:
    command = "python -m pytest tests/test_orders.py --maxfail=1"
    lines = digest_lines([step(n, call("bash", command=command)) for n in (1, 2)], NOWHERE)
    assert lines[0].call == f"bash {command}"
    assert lines[1].call.startswith("bash (again) python")


def test_outcomes() -> None:
    assert outcome("") == "→ (empty)"
    assert outcome("done") == "→ done"
    assert outcome("bash: tree: command not found") == "✗ bash: tree: command not found"
    assert outcome("<returncode>1</returncode>\n<output>\n</output>") == "✗ 1"
    assert outcome("<returncode>0</returncode>\n<output>\nerror count: 3\n</output>") == ""
    assert outcome("\n".join("an error in a listing" for _ in range(50))) == ""
    assert outcome("错误：订单不存在") == "✗ 错误：订单不存在"


def test_values_that_stand_elsewhere_are_not_carried_twice() -> None:
    got = step(1, call("get", q="zz"), results=("order_id: SO-77123\ncustomer_id: CU-5\n",))
    assert line(got, frozenset({"SO-77123"})).endswith("| customer_id: CU-5")


def test_facts_cost_no_more_than_the_rule_allows() -> None:
    rows = "\n".join(f"order_id: SO-{n:05d}" for n in range(150))
    got = step(1, call("list"), results=(rows,))
    few = digest_lines((got,), NOWHERE, DigestRule(step_tokens=20, share=0.0))[0]
    assert 1 <= len(few.facts) <= 5
    many = digest_lines((got,), NOWHERE, DigestRule(step_tokens=0, share=1.0))[0]
    assert len(few.facts) < len(many.facts) <= 60


def test_a_folded_line_keeps_the_best_facts_and_says_that_it_failed() -> None:
    rows = "\n".join(["some.code", *(f"order_id: SO-{n:05d}" for n in range(30))])
    got = step(7, call("list", day="2024-05-16"), results=(rows,), said="Let me list them.")
    whole = digest_lines((got,), NOWHERE, DigestRule(step_tokens=500))[0]
    folded = whole.folded(3)
    assert len(str(folded)) < len(str(whole.folded(1))) < len(str(whole))
    assert str(folded).startswith("7 list 2024-05-16 | order_id: SO-00000")
    failed = digest_lines((step(8, call("rm"), results=("rm: denied",)),), NOWHERE)[0]
    assert str(failed.folded(1)) == "8 rm ✗"


def test_a_digest_is_its_heading_and_a_line_a_step() -> None:
    lines = digest_lines([step(1, call("ls")), step(2), step(3, call("pwd"))], NOWHERE)
    assert segment_text(lines, "[trimmed] s-abc") == "[trimmed] s-abc\n1 ls\n3 pwd"
