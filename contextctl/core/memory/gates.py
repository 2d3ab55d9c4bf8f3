"""The gates a memory passes before it is written. Rather one too few than one wrong (SPEC S5).

A wrong memory comes back in every later conversation, so a candidate is refused on suspicion:
what does not last (offers, moments, the agent's own plans), what nobody has confirmed (guesses),
what must not be kept at all, and what belongs to nobody.
"""

from __future__ import annotations

import unicodedata

import regex

from contextctl.core.memory.sensitive import sensitive_kinds
from contextctl.model.memory import DAY, HOLD, KINDS, REFUSE, STORE, Candidate, Verdict
from contextctl.model.memory_keys import is_subject
from contextctl.model.profile_parts import MemoryRule

CONFIRMED_BY = ("user", "person")
"""Sources that need no confirmation: the person themselves, and whoever keeps the store."""

LONGEST_DAYS = 36_500
"""A memory that is to live longer does not expire: nobody will be there to see it."""

_FLAGS = regex.IGNORECASE | regex.VERSION1

# An offer that ends, a moment, something under way.
_PASSING = regex.compile(
    r"限时|秒杀|仅限今[天日]|今[天日晚](?:截止|到期|有效|之?内|特价|打折)|(?:今[天日晚]|明[天日]|本周[一-龥]?|周[一-日末]|月底|\d+[日号点])(?:之?前)?(?:截止|到期|过期|失效)"
    r"|(?:优惠[码券]?|折扣[码券]?|代金券|红包|活动价?|促销)[^。；\n]{0,16}(?:截止|到期|过期|失效|有效期|今[天日]|明[天日]|本周|结束)"
    r"|(?:目前|现在|此刻|当前)?正在|刚刚|刚才|稍后|稍等|[等待过]会儿?|延误|晚点[了\d]|马上(?:要|就)?|临时|暂时|这次(?:先|就)?|本次|这一?单|此单"
    r"|(?:今[天日晚]|明[天早晚日]|后天|[本这下]周|[本这下]个?月|这[两几]天|这会儿|眼下"
    r"|现在(?!住|用|任职|就职|负责|在[^。；\n]{1,10}(?:工作|上班|读|上学|任教)))(?![^。；\n]{0,6}(?:起|开始|以后))"
    r"|(?:余额|库存|排队|等待)[^。；\n]{0,8}\d|[仅只还]剩(?:下|余)?最?后?\s*[\d一二两三四五六七八九十几]+\s*(?:个名额|[张件间席位份套台瓶盒双条])"
    r"|在路上|派送中|配送中|运输中|(?:\d|[一二两三四五六七八九十半])\s*(?:分钟|个?小时)(?:之?后|以后)"
    r"|(?:汇率|股价|气温|油价|金价|行情)[^。；\n]{0,8}\d|双十[一二]|买一送一|满\s*\d+\s*减"
    r"|\b(?:today|tonight|tomorrow|right now|just now|at the moment|for now|temporar(?:y|ily)"
    r"|this (?:time|once|order|morning|afternoon|evening|weekend|week)|(?:is|are|was|am) currently"
    r"|(?:is|are|am) (?:\w+ )?waiting|in (?:a|an|\d+) (?:minutes?|hours?))\b"
    r"|\b(?:flash|limited[- ]time|clearance) (?:sale|offer|deal|discount)"
    r"|\b(?:use|apply|enter|with) (?:the )?(?:promo |coupon )?code \w*\d"
    r"|\b(?:\d+|one|two|three|four|five|few|several|last) (?:seats?|rooms?|tickets?|items?|pieces?"
    r"|units?|copies|spots?|places|pairs?|tables?) (?:left|remain|available)"
    r"|\buntil (?:\d|noon|midnight|tonight|further notice)|\b(?:delayed|late) by \d|\bout sick\b"
    r"|\bout for delivery\b|\bin transit\b|\bon (?:its|the|his|her|their) way\b"
    r"|\bcurrent (?:\w+ )?(?:temperature|price|rate|status|balance|weather|location)\b"
    r"|\bexchange rate (?:is|was|of)\b|\bblack friday\b|\bcyber monday\b|\bbuy one,? get one\b"
    r"|\d\s?% (?:off|discount)[^.;\n]{0,40}\b(?:until|till|through|ends?|expires?|before|by)\b"
    r"|\b(?:coupon|voucher|promo(?:tion|tional)?|discount|offer|deal|sale)\b[^.;\n]{0,40}\b(?:expires?"
    r"|ends?|until|valid|only this|left|by (?:mon|tues|wednes|thurs|fri|satur|sun)day)",
    _FLAGS,
)

# The agent talking to itself.
_REASONING = regex.compile(
    r"^\s*(?:让我|我(?:先|来|需要先|打算|接下来|应该先|将(?!来))|接下来|下一步|首先|其次|综上|因此|所以|看来|思路|推理|步骤\s*\d)"
    r"|(?:下一步|接下来)(?:需要|要|应该|是|将)"
    r"|^\s*(?:let me|i(?:'ll| will| need to| should)\b|(?:so|then|next|first|now),? (?:i|we|let)\b"
    r"|we (?:should|need to|can now)\b|therefore\b|my (?:plan|reasoning|next step)|step \d+[:.]"
    r"|the (?:next step|plan) is|thinking:|thought:|to answer this\b)",
    _FLAGS,
)

# What the speaker does not know.
_GUESS = regex.compile(
    r"(?<!不)可能(?!的话)|也许|或许|兴许|没准|大[概约]|约莫|不敢肯定|似乎|好像|估计|应该是|推测|猜测?|疑似|看起来像?|感觉(?:像|是|他|她)"
    r"|看样子|据(?:说|传|悉)|传闻|(?<![有没])听说(?!过)|不(?:知道|晓得|清楚)是[不否]"
    r"|多半|八成|说不定|未确认|不(?:太|大|是很)?确定"
    r"|\b(?:might|maybe|perhaps|probably|possibly|presumably|apparently|seem(?:s|ed|ingly)?"
    r"|likely|unconfirmed|unsure|not (?:sure|certain)|hard to (?:say|tell)"
    r"|uncertain|guess(?:ed|ing)?|suspect(?:s|ed)?"
    r"|assum(?:e[sd]?|ing)|could be|looks like|sounds like|appears? to)\b"
    r"|\bi (?:think|believe|suppose|reckon) (?:he|she|they|it|the|that|this|there)\b"
    r"|\breportedly\b|\ballegedly\b|\brumou?r(?:s|ed)?\b|\bhearsay\b"
    r"|\bmay (?:be|have|want|like|prefer|need|work|live|not)\b",
    _FLAGS,
)


def admit(candidate: Candidate, rule: MemoryRule) -> Verdict:
    """What becomes of ``candidate``. The order is that of the references: the first gate speaks."""
    text = unicodedata.normalize("NFKC", candidate.text).strip()
    unstable = _not_stable(candidate, text, rule)
    if unstable:
        return Verdict(REFUSE, "not_stable", unstable)
    unsure = _not_sure(candidate, text, rule)
    if unsure:
        return Verdict(REFUSE, "low_confidence", unsure)
    found = sensitive_kinds(f"{candidate.key}\n{candidate.text}")
    if found:
        return Verdict(REFUSE, "sensitive", f"holds {' and '.join(found)}; never stored")
    if not is_subject(candidate.subject):
        whose = f"'{candidate.subject}'" if candidate.subject else "nobody"
        return Verdict(
            REFUSE, "no_subject", f"belongs to {whose}; a subject is user:ID or tenant:ID"
        )
    if candidate.source not in CONFIRMED_BY:
        return Verdict(
            HOLD, "unconfirmed", f"comes from {candidate.source}; somebody has to confirm it"
        )
    return Verdict(STORE)


def lifetime_s(candidate: Candidate, rule: MemoryRule) -> float | None:
    """Seconds until the memory expires; None: never. Session memory lives a day at most."""
    days = rule.ttl_days if candidate.ttl_days is None else candidate.ttl_days
    own = None if days is None or days > LONGEST_DAYS else days * DAY
    if not candidate.session:
        return own
    return float(DAY) if own is None else min(own, float(DAY))


def _not_stable(candidate: Candidate, text: str, rule: MemoryRule) -> str:
    if not text:
        return "there is no text"
    if candidate.kind not in KINDS or candidate.kind not in rule.kinds:
        return f"'{candidate.kind}' is not one of {', '.join(rule.kinds)}"
    if candidate.ttl_days is not None and not candidate.ttl_days > 0:
        return "it has expired already"
    reasoning = _REASONING.search(text)
    if reasoning and candidate.source not in CONFIRMED_BY:
        return f"'{reasoning[0].strip()}' is how an agent thinks, not something to remember"
    # A session may know what holds today; a month may not.
    passing = None if candidate.session else _PASSING.search(text)
    return f"'{passing[0].strip()}' does not last" if passing else ""


def _not_sure(candidate: Candidate, text: str, rule: MemoryRule) -> str:
    if not candidate.confidence >= rule.min_confidence:  # NaN is no confidence
        return f"confidence {candidate.confidence:g} is below {rule.min_confidence:g}"
    if candidate.source == "model":
        return "nobody but the model says so; quote who did"
    guess = _GUESS.search(text)
    return f"'{guess[0].strip()}' is a guess" if guess else ""
