"""Formats with blocks, items or events of their own. Expectations by hand."""

from __future__ import annotations

from tests.unit.io.traces.spelled import fixture, spelled, topics


def test_anthropic_messages() -> None:
    (trace,) = fixture("anthropic.json")
    assert (trace.source, trace.model) == ("anthropic", "claude-stub")
    assert spelled(trace) == [
        "system: You keep orders.",
        "user: Terms: 30 days.\nIs SO-1 late?\n[image/png, 4 bytes, not shown as text]",
        "assistant: I look.",
        '-> look_up({"order": "SO-1"}) #t1',
        '-> look_up({"order": "订单"}) #t2',
        "tool #t1: due 1 May",
        "tool #t2!: no such order",
        "user: and today?",
        "assistant: ",
        '-> web_search({"query": "date"}) #s1',
        'tool #s1: {"type": "web_search_result", "title": "Date", "url": "https://example.org"}',
        "assistant: It is 2 May: late.",
        "user: again, please",
        "user: so?",
        "assistant: ",
        "-> ask({}) #m1",
        "tool #m1!: down",
        "assistant: Remind them.",
    ]
    assert topics(trace) == {"thinking": 1, "compaction": 1}
    compaction = next(note for note in trace.notes if note.topic == "compaction")
    assert compaction.body == {"summary": "SO-1 was due 1 May and is late."}
    assert compaction.after == 10, "after 'again, please', before 'so?'"
    assert [tool.name for tool in trace.tools] == ["look_up", "web_search"]


def test_responses_items_of_one_side_are_one_turn() -> None:
    (trace,) = fixture("responses.json")
    assert (trace.source, trace.model) == ("responses", "stub-1")
    assert spelled(trace) == [
        "system: You keep orders.",
        "user: SO-1 and SO-2?\n[image/png, 4 bytes, not shown as text]",
        "assistant: I look.",
        '-> look_up({"order": "SO-1"}) #c1',
        '-> look_up({"order": "SO-2"}) #c2',
        "tool #c1: paid",
        "tool #c2: open",
        "assistant: SO-1 only.",
    ]
    assert topics(trace) == {"thinking": 1, "server_call": 1, "compaction": 1}
    assert [tool.name for tool in trace.tools] == ["look_up"]


def test_exchanges_are_joined_into_conversations() -> None:
    order, other = fixture("exchanges.jsonl")
    assert (order.source, order.id, other.id) == ("exchanges", "first", "other")
    assert spelled(order) == [
        "system: Short.",
        "user: SO-1?",
        "assistant: ",
        '-> look_up({"order": "SO-1"}) #t1',
        "tool #t1: paid",
        "assistant: SO-1 is paid.",
    ]
    first, second = order.usages[1], order.usages[2]
    # Anthropic counts cache reads and writes beside the input: 10 + 100 + 7.
    assert (first.prompt_tokens, first.cached_tokens, first.cache_write_tokens) == (117, 100, 7)
    assert (second.prompt_tokens, second.completion_tokens) == (20, 5)
    # OpenAI counts them within it.
    assert (other.usages[1].prompt_tokens, other.usages[1].cached_tokens) == (30, 20)


def test_a_cassette_is_its_conversation() -> None:
    (trace,) = fixture("cassette.yaml")
    assert (trace.source, trace.id) == ("cassette", "cassette")
    assert spelled(trace) == ["user: SO-1?", "assistant: paid", "user: sure?", "assistant: yes"]
    assert trace.usages[1].prompt_tokens == 10
    assert "skipped request 3: its body is not JSON" in trace.warnings[0]


def test_the_recorders_own_file() -> None:
    (trace,) = fixture("recorded.jsonl")
    assert (trace.source, trace.id) == ("recorded", "run")
    assert spelled(trace) == ["user: a", "assistant: A", "user: b", "assistant: B"]
    assert [tool.name for tool in trace.tools] == ["look_up"]
    assert topics(trace) == {"error": 1}


def test_pi() -> None:
    (trace,) = fixture("pi.jsonl")
    assert (trace.source, trace.id, trace.model) == ("pi", "pi", "stub-1")
    assert spelled(trace) == [
        "user: fix the till",
        "assistant: I read both.",
        '-> read({"path": "till.ts"}) #p1',
        '-> read({"path": "шаблон.png"}) #p2',
        "tool #p1: let total = 0",
        "tool #p2: Read image\n[image/png, 4 bytes, not shown as text]",
        "assistant: ",
        '-> edit({"path": "till.ts"}) #p3',
        "assistant: ",
        "user (observation): $ make till\nok\n",
        "assistant: Done.",
        "user: thanks",
    ]
    first = trace.usages[1]
    assert (first.prompt_tokens, first.cached_tokens, first.cache_write_tokens) == (1203, 1000, 200)
    assert (first.completion_tokens, first.cost_usd) == (50, 0.0125)
    assert list(trace.usages) == [1, 4], "aborted turns report no tokens: no fact"
    assert topics(trace) == {
        "session": 1,
        "thinking": 1,
        "thinking_level": 1,
        "aborted": 2,
        "model": 1,
        "compaction": 1,
    }
    compaction = next(note for note in trace.notes if note.topic == "compaction")
    assert compaction.after == 7
    assert compaction.body["tokensBefore"] == 4321
    assert ["pi.jsonl:12" in trace.warnings[0], "pi.jsonl:13" in trace.warnings[1]] == [True, True]
    assert "several JSON values stand on one line; all were read" in trace.warnings[0]


def test_claude_code() -> None:
    main, side = fixture("claude_code.jsonl")
    assert (main.source, main.id, side.id) == (
        "claude-code",
        "claude_code",
        "claude_code-sidechain-1",
    )
    assert spelled(main) == [
        "user: fix the till",
        "assistant: I ask a subagent.",
        '-> Task({"prompt": "find it"}) #t1',
        "tool #t1: It is in till.ts",
        "assistant: ",
        '-> Edit({"file": "till.ts"}) #t2',
        "tool #t2!: String not found",
    ]
    assert spelled(side) == ["user: find it", "assistant: It is in till.ts"]
    # Two lines of one reply: the last count is the whole one.
    assert (main.usages[1].prompt_tokens, main.usages[1].completion_tokens) == (105, 30)
    assert list(main.usages) == [1]
    assert topics(main) == {"summary": 1, "compaction": 2, "thinking": 1}
    warned = main.warnings + side.warnings
    assert [text.rpartition("claude_code.jsonl:")[2].partition(":")[0] for text in warned] == [
        "14",
        "15",
        "16",
    ]


def test_cline_counts_cached_tokens_within_the_input() -> None:
    (trace,) = fixture("cline.json")
    assert (trace.source, trace.id, trace.model) == ("cline", "1784_ab", "other/model")
    assert spelled(trace) == [
        "system: You are a coding agent.",
        'user: fix @till.ts\n<file path="/shop/till.ts">\nlet total = 0\n</file>',
        "assistant: I read.",
        '-> read_files({"files": ["till.ts"]}) #t1',
        'tool #t1: {"query": "till.ts", "result": "let total = 0", "success": true}',
        "assistant: Fixed.",
    ]
    usage = trace.usages[1]
    assert (usage.prompt_tokens, usage.cached_tokens, usage.cost_usd) == (500, 400, 0.01)
