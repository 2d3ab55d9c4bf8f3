"""Laws of what is sent: arguments, marks, output kept in bounded memory."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from contextctl.core.cache_marks import mark
from contextctl.core.tools.arguments import replayable
from contextctl.io.text.unicode import whole_characters
from contextctl.io.tools.bounded import Kept
from contextctl.model.prices import CacheRule
from contextctl.model.usage import usage_from_provider

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.text() | JSON.map(json.dumps))
def test_what_is_replayed_is_always_an_object_and_a_valid_one_is_untouched(raw):
    shown = replayable(raw)
    assert isinstance(json.loads(shown), dict)
    assert replayable(shown) == shown
    assert shown in {raw, "{}"}


CONTENT = st.one_of(
    st.none(),
    st.sampled_from(["", " ", "text", "文字"]),
    st.lists(
        st.sampled_from(["", "\n", "part"]).map(lambda t: {"type": "text", "text": t}), max_size=3
    ),
)
MESSAGE = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["system", "user", "assistant", "tool"]),
    CONTENT,
)


@given(st.lists(MESSAGE, max_size=40), st.integers(0, 3), st.integers(0, 500), st.integers(1, 4))
def test_marks_are_few_on_full_blocks_and_change_nothing_else(messages, tail, minimum, limit):
    tail = min(tail, len(messages))
    sizes = [20] * len(messages)
    marked = mark(messages, sizes, CacheRule(minimum, limit), tail=tail)
    found = 0
    for place, message in enumerate(marked):
        plain = {key: value for key, value in message.items() if key != "cache_control"}
        if "cache_control" in message:
            found += 1
            assert isinstance(message["content"], str)
            assert message["content"].strip()
        if isinstance(message["content"], list):
            for part in message["content"]:
                if "cache_control" in part:
                    found += 1
                    assert part["text"].strip()
            plain["content"] = [{"type": "text", "text": p["text"]} for p in message["content"]]
        assert plain == messages[place]
        if message != messages[place]:
            assert place < len(messages) - tail
            assert 20 * (place + 1) >= minimum
    assert found <= limit


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(0, 60), st.integers(0, 60))
def test_kept_output_is_a_head_and_a_tail_and_the_rest_is_counted(chunks, head, tail):
    kept = Kept(head, tail)
    for chunk in chunks:
        kept.add(chunk)
    whole = b"".join(chunks)
    joined = kept.joined()
    if len(whole) <= head + tail:
        assert joined == whole
        assert kept.dropped == 0
    else:
        assert kept.dropped == len(whole) - head - tail
        assert joined.startswith(whole[:head])
        assert joined.endswith(whole[len(whole) - tail :])


@given(st.text(alphabet=st.characters(min_codepoint=0xD000, max_codepoint=0x10FFFF)))
def test_text_becomes_writable_and_whole_text_is_untouched(text):
    surrogates = text + "\ud83d" if text else text
    whole_characters(surrogates).encode("utf-8")
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert whole_characters(text) == text


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**5))
def test_every_style_of_one_usage_reads_the_same(uncached, cached, written, completion):
    prompt = uncached + cached + written
    raw_anthropic = {
        "input_tokens": uncached,
        "output_tokens": completion,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
    }
    details = {"cached_tokens": cached, "cache_creation_tokens": written}
    chat = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": details,
    }
    assert usage_from_provider(raw_anthropic) == usage_from_provider(chat)
    assert usage_from_provider(chat).prompt_tokens == prompt
