"""What recall finds: the turns that answer a question, among the first five, and how fast.

    python bench/recall.py [--data ../shared/data] [--json]

Recall over older turns is compared with plain BM25 over whitespace tokens, on the same turns and
questions in the same run. LoCoMo and BFCL name the evidence of each question. LongMemEval's sample
has lost that: its evidence are the turns that hold the answer, else the conversation it was asked
of, among all conversations of the sample. MemoryBank has none: only questions that name a day
count, and any turn of that day is one that answers; its turns do not hold their date.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextctl.core.search.bm25 import K1, B, Bm25

TOP = 5
TURNS = 10_000  # of the timing


@dataclass(frozen=True)
class Asked:
    """A question, and the numbers of the turns that answer it; one is enough if ``any_of``."""

    question: str
    gold: frozenset[int]
    any_of: bool = False


@dataclass(frozen=True)
class Talk:
    """Turns in order, and what is asked about them."""

    turns: list[str]
    asked: list[Asked]


class Plain:
    """BM25 as it is usually written down: lower-case words between spaces, same constants."""

    def __init__(self, turns: Sequence[str]) -> None:
        self.docs = [Counter(turn.lower().split()) for turn in turns]
        self.lengths = [sum(doc.values()) for doc in self.docs]
        self.mean = sum(self.lengths) / max(len(turns), 1)
        self.having = Counter(term for doc in self.docs for term in doc)

    def search(self, question: str, limit: int) -> list[int]:
        """The numbers of the best turns."""
        asked = set(question.lower().split())
        scored = []
        for number, doc in enumerate(self.docs):
            norm = K1 * (1 - B + B * self.lengths[number] / (self.mean or 1))
            score = sum(
                self._idf(term) * doc[term] * (K1 + 1) / (doc[term] + norm)
                for term in asked
                if term in doc
            )
            if score > 0:
                scored.append((score, number))
        return [number for _, number in sorted(scored, reverse=True)[:limit]]

    def _idf(self, term: str) -> float:
        having = self.having[term]
        return math.log(1 + (len(self.docs) - having + 0.5) / (having + 0.5))


def main() -> int:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = options.data / "03_memory"
    if not folder.is_dir():
        print(f"no data at '{folder}'; give --data DIR", file=sys.stderr)
        return 2
    sets = {
        "locomo": locomo(folder / "NC" / "locomo10_part.json"),
        "longmemeval": longmemeval(folder / "longmemeval_oracle_sample.json"),
        "bfcl_memory": bfcl(folder),
        "memorybank_cn": memorybank(folder, "cn", r"(\d+)月(\d+)[日号]"),
        "memorybank_en": memorybank(folder, "en", r"(April|May) (\d+)"),
    }
    rows = {name: measured(talks) for name, talks in sets.items()}
    speed = timed(sets["locomo"])
    if options.json:
        print(json.dumps({"recall_at_5": rows, "speed": speed}, ensure_ascii=False))
        return 0
    print(f"{'':16} {'questions':>9} {'ours':>7} {'plain':>7}   recall@{TOP}")
    for name, row in rows.items():
        print(f"{name:16} {row['questions']:9} {row['ours']:7.3f} {row['plain']:7.3f}")
    print(
        f"a query at {TURNS:,} turns: median {speed['query_ms_median']:.2f} ms, "
        f"p95 {speed['query_ms_p95']:.2f} ms; plain {speed['plain_ms_median']:.2f} ms; "
        f"adding a turn {speed['add_ms']:.3f} ms"
    )
    return 0


def measured(talks: Sequence[Talk]) -> dict[str, Any]:
    """Mean recall of both rankings over all questions of a set."""
    ours, plain = [], []
    for talk in talks:
        index, other = Bm25(), Plain(talk.turns)
        for turn in talk.turns:
            index.add(turn)
        for asked in talk.asked:
            found = [hit.number for hit in index.search(asked.question, TOP)]
            ours.append(recall(asked, found))
            plain.append(recall(asked, other.search(asked.question, TOP)))
    count = len(ours)
    return {"questions": count, "ours": sum(ours) / count, "plain": sum(plain) / count}


def recall(asked: Asked, found: Sequence[int]) -> float:
    """The share of the evidence among ``found``."""
    hits = len(asked.gold.intersection(found))
    return float(hits > 0) if asked.any_of else hits / len(asked.gold)


def timed(talks: Sequence[Talk]) -> dict[str, float]:
    """Milliseconds of a query over ``TURNS`` turns, repeated from the set with numbers of turns."""
    pool = [turn for talk in talks for turn in talk.turns]
    turns = [f"{pool[at % len(pool)]} #{at}" for at in range(TURNS)]
    questions = [asked.question for talk in talks for asked in talk.asked][:200]
    index, started = Bm25(), time.perf_counter()
    for turn in turns:
        index.add(turn)
    adding = (time.perf_counter() - started) / TURNS * 1000
    took = sorted(_ms(index.search, question) for question in questions)
    other = Plain(turns)
    plain = [_ms(other.search, question) for question in questions[:20]]
    return {
        "turns": TURNS,
        "query_ms_median": statistics.median(took),
        "query_ms_p95": took[int(0.95 * len(took))],
        "plain_ms_median": statistics.median(plain),
        "add_ms": adding,
    }


def _ms(search: Any, question: str) -> float:
    started = time.perf_counter()
    search(question, TOP)
    return (time.perf_counter() - started) * 1000


def locomo(path: Path) -> list[Talk]:
    """Long chats of two people; the adversarial questions have evidence as well."""
    talks = []
    for sample in json.loads(path.read_text(encoding="utf-8")):
        spoken = sample["conversation"]
        turns, places = [], {}
        for session in spoken.values():
            if isinstance(session, list):
                for turn in session:
                    places[turn["dia_id"]] = len(turns)
                    caption = turn.get("blip_caption") or ""
                    turns.append(f"{turn['speaker']}: {turn['text']} {caption}".strip())
        asked = []
        for pair in sample["qa"]:
            gold = frozenset(places[one] for one in pair["evidence"] if one in places)
            if gold:
                asked.append(Asked(pair["question"], gold))
        talks.append(Talk(turns, asked))
    return talks


def longmemeval(path: Path) -> list[Talk]:
    """All conversations of the sample as one long one."""
    turns: list[str] = []
    asked = []
    for sample in json.loads(path.read_text(encoding="utf-8"))["data"]:
        own = range(len(turns), len(turns) + len(sample["conversation"]))
        turns += [turn["content"] for turn in sample["conversation"]]
        for pair in sample["questions"]:
            answer = re.compile(rf"(?<!\w){re.escape(str(pair['answer']))}(?!\w)", re.IGNORECASE)
            holding = frozenset(number for number in own if answer.search(turns[number]))
            asked.append(Asked(pair["question"], holding or frozenset(own), any_of=not holding))
    return [Talk(turns, asked)]


def bfcl(folder: Path) -> list[Talk]:
    """What two people told an assistant; the evidence of a question is a sentence of it."""
    answers = {line["id"]: line for line in _lines(folder / "bfcl_memory_answers.jsonl")}
    questions = list(_lines(folder / "bfcl_memory_questions.jsonl"))
    talks = []
    for scenario in ("student", "finance"):
        told = _lines(folder / f"bfcl_memory_prereq_{scenario}.jsonl")
        turns = [m["content"] for line in told for turn in line["question"] for m in turn]
        asked = []
        for one in (one for one in questions if one["scenario"] == scenario):
            source = _letters(str(answers[one["id"]]["source"]))
            gold = frozenset(n for n, turn in enumerate(turns) if source in _letters(turn))
            if gold and source:
                asked.append(Asked(one["question"][0][0]["content"], gold))
        talks.append(Talk(turns, asked))
    return talks


def memorybank(folder: Path, language: str, day: str) -> list[Talk]:
    """Ten days of chat a user; questions that name one of them."""
    people = json.loads((folder / f"memorybank_{language}.json").read_text(encoding="utf-8"))
    talks = []
    for line in _lines(folder / f"memorybank_{language}_probing_questions.jsonl"):
        for person, questions in line.items():
            turns, days = [], {}
            for date, said in people[person]["history"].items():
                days[date[5:]] = frozenset(range(len(turns), len(turns) + len(said)))
                turns += ["\n".join(str(text) for text in turn.values()) for turn in said]
            asked = []
            for question in questions:
                named = re.search(day, question)
                if named:
                    month = {"April": 4, "May": 5}.get(named[1]) or int(named[1])
                    gold = days.get(f"{month:02}-{int(named[2]):02}")
                    if gold:
                        asked.append(Asked(question, gold, any_of=True))
            talks.append(Talk(turns, asked))
    return talks


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
