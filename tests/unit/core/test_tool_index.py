"""Finding a tool: identifiers, endings, fields, servers, several wants, two languages."""

from __future__ import annotations

import pytest

from contextctl.core.search.terms import terms
from contextctl.core.search.tool_words import english_words
from contextctl.core.tools.index import ToolIndex, blended, sentences, tool_text
from contextctl.model.message import JsonObject, ToolSpec


def tool(name: str, about: str = "", server: str = "desk", **parameters: str) -> ToolSpec:
    properties: JsonObject = {key: {"description": text} for key, text in parameters.items()}
    return ToolSpec(name, about, {"type": "object", "properties": properties}, server)


DESK = (
    tool("issue_refund", "退款：为已付款的订单退还金额", order_id="订单编号"),
    tool("createInvoice", "Make an invoice for an order.", order_id="the order"),
    tool("list_orders", "All orders of a customer.", customer="name of the customer"),
    tool("get_weather", "Forecast for a city.", "sky", city="name of the city"),
    tool("air_quality", "How clean it is.", "sky", city="name of the city"),
    tool("translate", "Put a text into another language.", "words", target="language to write"),
)
INDEX = ToolIndex(DESK)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("issue_refund", "issue_refund"),
        ("refund an order", "issue_refund"),
        ("退款", "issue_refund"),
        ("钱怎么退还", "issue_refund"),
        ("make me invoices", "createInvoice"),
        ("开发票", "createInvoice"),
        ("weather tomorrow", "get_weather"),
        ("明天的天气怎么样？", "get_weather"),
        ("translating a letter", "translate"),
        ("翻译这封信", "translate"),
        ("write it in another language", "translate"),
    ],
)
def test_the_tool_that_is_meant_comes_first(question: str, first: str) -> None:
    assert INDEX.search(question, 3)[0].name == first


def test_an_english_question_finds_a_tool_described_in_chinese() -> None:
    chinese = ToolIndex(
        [tool("t1", "查询天气预报"), tool("t2", "发送电子邮件"), tool("t3", "删除文件")]
    )
    assert chinese.search("weather forecast", 1)[0].name == "t1"
    assert chinese.search("send an email", 1)[0].name == "t2"


def test_two_wants_in_two_sentences_are_both_found() -> None:
    found = INDEX.search("Refund order 4711. Then tell me the weather in Paris!", 2)
    assert {spec.name for spec in found} == {"issue_refund", "get_weather"}


def test_what_else_a_server_offers_speaks_for_its_tools() -> None:
    tools = (
        tool("search", "Search.", "papers"),
        tool("download", "Download papers from arxiv.", "papers"),
        tool("search", "Search.", "shops"),
    )
    assert ToolIndex(tools).search("search arxiv papers", 3)[1].source == "papers"


def test_nothing_in_common_is_nothing_found() -> None:
    assert INDEX.search("zyzzyva", 5) == ()
    assert INDEX.search("", 5) == ()
    assert ToolIndex(()).search("refund", 5) == ()


def test_a_likeness_in_meaning_decides_where_words_do_not() -> None:
    near = [0.1, 0.2, 0.1, 0.1, 0.9, 0.1]
    assert INDEX.search("zyzzyva", 1, near)[0].name == "air_quality"
    assert INDEX.search("issue_refund", 1, near)[0].name == "issue_refund"


def test_an_embedding_reads_a_name_as_words() -> None:
    assert tool_text(tool("getOrder_byId", "About it.")) == "get Order by Id: About it."


class TestWords:
    def test_the_longest_word_at_a_place_counts(self) -> None:
        assert english_words("优惠券") == ["coupon"]
        assert english_words("优惠") == ["discount", "coupon"]
        assert english_words("查询订单状态 order 12") == [
            "query",
            "search",
            "get",
            "order",
            "status",
            "state",
        ]

    def test_a_text_without_chinese_has_none(self) -> None:
        assert english_words("refund order") == []

    def test_every_english_word_is_one_that_an_index_can_hold(self) -> None:
        for word in english_words("退款天气地铁航班二维码经纬度"):
            assert terms(word)


def test_nearness_in_meaning_is_half_that_of_the_best_sentence() -> None:
    assert sentences("Only one thing") == []
    assert sentences("First this. Then that!") == ["First this", " Then that"]
    assert blended([0.2, 0.4], []) == [0.2, 0.4]
    assert blended([0.2, 0.4], [[0.6, 0.0], [0.2, 0.2]]) == pytest.approx([0.4, 0.3])
