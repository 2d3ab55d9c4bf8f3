"""Words that say how a sentence is built and not what it is about. Questions are full of them."""

from __future__ import annotations

_ENGLISH = (
    "a about am an and any are as at be been being both but by can could did do does for from had",
    "has have he her him his how i if in into is it its just me more most my no nor not of on only",
    "or other our out own same she should so some such than that the their them then there these",
    "they this to too up us very was we were what when where which who why will with would you",
    "your aren didn doesn don isn let wasn won",
)
# Pairs of characters, as search terms are: words, and the seams between two such words.
_CHINESE = (
    "什么 怎么 我们 你们 他们 她们 这个 那个 一个 一下 可以 就是 是不 不是 有没 没有 还有 的时",
    "时候 是的 了吗 还记 记得 曾经 的是 是什 哪些 么的 我的 你的 他的 她的 它的 为什 吗我 请问",
    "这些 那些 以及 因为 所以 但是 如果",
    "如何 怎样 多少 哪里 哪儿 哪个 是哪 在哪 帮我 给我 么样 么办",
    "是否 能否 里有 吗你",
)
_JAPANESE = ("です ます した して ない こと もの",)

COMMON = frozenset(
    word for lines in (_ENGLISH, _CHINESE, _JAPANESE) for line in lines for word in line.split()
)
