"""What no memory may hold: identity and card numbers, one-time codes, passwords and keys.

Numbers are judged by their checksums (python-stdnum), so that an order number of the same length
passes. Codes and passwords have none: they are told by the words beside them. Keys are told by the
prefix their issuer gives them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

import regex
from stdnum import iban, luhn
from stdnum.cn import ric

_FLAGS = regex.IGNORECASE | regex.VERSION1

# Digits with the separators people write in them; the checksum decides.
_DIGITS = regex.compile(r"(?<![\p{L}\d])\d(?:[ \-.·]?\d){11,18}(?![\p{L}\d])")
_RESIDENT = regex.compile(
    r"(?<![\p{L}\d])[1-9](?:[ \-]?\d){5}[ \-]?(?:19|20)(?:[ \-]?\d){9}[ \-]?[\dXx](?![\p{L}\d])"
)

# Issuer ranges: UnionPay, Visa, Mastercard, American Express, Diners, Discover, JCB.
_CARD = regex.compile(
    r"62\d{14,17}|9[08]\d{14,17}|4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01]|720)\d{12,13}"
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d{2})\d{12}|35(?:2[89]|[3-8]\d)\d{12}"
)

# An international account number (IBAN), in groups of four or not.
_ACCOUNT = regex.compile(
    r"(?<![\p{L}\d])[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?(?![\p{L}\d])"
)

_ID_WORDS = regex.compile(
    r"(?:身份证|证件号|护照|社保号|驾驶证|passport|social security|\bssn\b|driver'?s licen[cs]e"
    r"|national id)[^\d\n]{0,24}(?:[A-Z]{0,2}\d[\d\- ]{5,})",
    _FLAGS,
)
_CODE = regex.compile(
    r"(?:验证码|校验码|动态码|登[录陆]码|授权码|配对码|动态密码|动态口令|安全码|取件码|\botp\b"
    r"|one[- ]time (?:pass)?(?:code|word)"
    r"|(?:verification|security|confirmation|login|sign-?in|auth(?:entication)?|2fa|mfa|sms|access)"
    r" code|\bpasscode|\bcv[vc]2?\b)[^\d\n]{0,20}(?<![\p{L}\d])\d(?:[ -]?\d){2,7}(?!\d)"
    r"|(?<![\p{L}\d])\d(?:[ -]?\d){3,7}(?!\d)[^\d\n]{0,12}"
    r"(?:(?:是|为)[^\d\n]{0,8}(?:验证码|校验码|动态码)"
    r"|is (?:your|the|my) (?:[\w-]+ ){0,3}(?:code|otp|passcode)\b)"
    r"|(?<!(?:postal|post|zip|area|country|product|dress) )\bcode (?:is|was) \W?\d(?:[ -]?\d){3,7}"
    r"(?!\d)",
    _FLAGS,
)
_PASSWORD = regex.compile(
    r"(?:密码|口令|暗号)(?:是|为|：|:|=|\s*[:=]\s*)\s*[^\s，。,;；]{3,}"
    r"|(?:密码|口令)\s*(?=[A-Za-z!-@]*\d)[A-Za-z!-@]{4,}"
    r"|\b(?:password|passcode|pin(?: code)?)\s+(?=\S*\d)[^\s,.;]{4,}"
    r"|\b(?:password|passwd|passphrase|pwd|pin)\b\s*(?:is|was|:|=)\s*(?!(?:the|a|an|in|on|not|"
    r"stored|kept|managed|reset|required|always|never|by|expired)\b)[\"'`]?\S{3,}"
    r"|\b(?:api[_ -]?key|secret(?:[_ -]?key)?|access[_ -]?token|auth[_ -]?token|client[_ -]?secret"
    r"|token)\b\s*(?:is|:|=)\s*[\"'`]?[\w\-./+]{12,}"
    r"|(?:安全问题|密保(?:问题)?)[^\n]{0,20}答案"
    r"|\bsecurity (?:question|answer)\b[^\n]{0,40}\b(?:is|:)"
    r"|\bmaiden name is\b|(?:密钥|令牌|秘钥)(?:是|为|：|:|=)\s*[\w\-./+]{8,}",
    _FLAGS,
)
_KEY = regex.compile(
    r"(?<![A-Za-z0-9])(?:sk-(?:proj-|ant-|or-v1-|svcacct-)?[A-Za-z0-9_\-]{16,}"
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}"
    r"|LTAI[0-9A-Za-z]{12,}|AKID[0-9A-Za-z]{13,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_\-]{16,}|xox[abposr]-[A-Za-z0-9\-]{10,}"
    r"|AIza[0-9A-Za-z_\-]{30,}|ya29\.[0-9A-Za-z_\-]{20,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}"
    r"|pypi-[A-Za-z0-9_\-]{16,}|SG\.[\w\-]{16,}\.[\w\-]{16,}|\d{8,10}:AA[\w\-]{30,}"
    r"|eyJ[\w\-]{8,}\.eyJ[\w\-]{8,}\.[\w\-]{8,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|\b[Bb]earer [\w\-.+/=]{20,}"
    r"|\b[a-z][a-z0-9+.\-]*://[^\s/:@]+:[^\s/@]{3,}@",
    regex.VERSION1,
)


def sensitive_kinds(text: str) -> tuple[str, ...]:
    """What of ``text`` must not be kept: ``identity card code password key``, in this order."""
    plain = unicodedata.normalize("NFKC", text)
    return tuple(name for name, found in _KINDS if found(plain))


def _identity(text: str) -> bool:
    numbers = (regex.sub(r"[ -]", "", match[0]) for match in _RESIDENT.finditer(text))
    return any(_is_resident(number) for number in numbers) or bool(_ID_WORDS.search(text))


def _is_resident(number: str) -> bool:
    """A resident identity number of China: its province, date and checksum are right."""
    if ric.calc_check_digit(number) != number[-1].upper():
        return False
    month, day = int(number[10:12]), int(number[12:14])
    return 11 <= int(number[:2]) <= 83 and 1 <= month <= 12 and 1 <= day <= 31


def _card(text: str) -> bool:
    numbers = _whole_numbers(text)
    if any(_CARD.fullmatch(number) and luhn.is_valid(number) for number in numbers):
        return True
    return any(iban.is_valid(match[0]) for match in _ACCOUNT.finditer(text))


def _whole_numbers(text: str) -> Iterator[str]:
    for match in _DIGITS.finditer(text):
        yield regex.sub(r"\D", "", match[0])


def _found_by(pattern: regex.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.search(text) is not None


_KINDS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("identity", _identity),
    ("card", _card),
    ("code", _found_by(_CODE)),
    ("password", _found_by(_PASSWORD)),
    ("key", _found_by(_KEY)),
)
