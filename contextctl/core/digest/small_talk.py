"""Small talk: greetings, thanks and acknowledgements, which say nothing that a later step needs.

Only whole messages of such words count, and never a yes or a no: these may be the answer that a
later step depends on. English and Chinese.
"""

from __future__ import annotations

import re

_LONGEST = 60
_PHRASES = (
    r"ok(?:ay|ey)?|k|kk|alright|all right|right|sure|fine|great|nice|cool|perfect|awesome|excellent"
    r"|wonderful|beautiful|lovely|good|very good|well done|good job|nice work|great work|sweet|neat"
    r"|got it|i see|understood|noted|makes sense|sounds good|looks good|that works|no worries"
    r"|no problem|you'?re welcome|my pleasure|thanks?|thank you|many thanks|thx|ty|cheers|hi|hello"
    r"|hey|good (?:morning|afternoon|evening|night|day)|bye|goodbye|see you"
    r"|have a (?:nice|good|great) (?:day|one|evening|weekend)|haha|lol"
    r"|so much|very much|a lot|there|again|then|too"
    r"|you too|for (?:that|this|it|your help|the help|everything)"
)
_PHRASES_ZH = (
    r"好的?|好吧|好滴|嗯|哦|行吧?|可以的?|收到|明白了?|知道了|了解了?|没问题|不客气|谢谢|多谢|感谢"
    r"|辛苦了?|太好了|太棒了|很好|不错|厉害|你好|您好|早上好|下午好|晚上好|晚安|再见|拜拜|哈|您|你"
    r"|了|啦|呀|啊|哈|非常|你的帮助|您的帮助"
)
_WORDS = re.compile(rf"(?:{_PHRASES})(?:\s(?:{_PHRASES}))*")
_WORDS_ZH = re.compile(rf"(?:{_PHRASES_ZH})+")
_AROUND = re.compile(
    r"[\s!.,;:~…？！。，、；：()\[\]\"“”*_-]+|[\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]+"
)


def is_small_talk(text: str) -> bool:
    """Whether ``text`` is nothing but a greeting, thanks or an acknowledgement."""
    if len(text) > _LONGEST or "?" in text or "？" in text:
        return False
    words = _AROUND.sub(" ", text.casefold().replace("’", "'")).strip()
    if not words:
        return False
    return bool(_WORDS.fullmatch(words) or _WORDS_ZH.fullmatch(words.replace(" ", "")))
