"""What document search finds, and what a delegate that reads spares the main window.

    python bench/knowledge.py [--data ../shared/data] [--json]

bank    tau2 banking knowledge, 698 documents: documents required by each of 49 tasks among the
        first 5 and 10 that ``search_docs`` ranks for the task's whole text. A task needs up to 25
        documents, so a perfect ranking cannot reach 1.0: ``ceiling`` is what it would reach, and
        ``plain`` what BM25 over lower-case words and whole documents finds in the same run.
window  real runs of the same 49 tasks with the scripted model: the required documents are read by
        a delegate, and by the main agent itself (``remedies.isolate: false``). Tokens of the
        fullest main window.
spans   QMSum, 15 meetings, 112 questions: whether a hit lies in a span that answers the question,
        and how much of the spans is read when the sections of the hits are.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nlargest
from math import log
from pathlib import Path
from typing import Any

from contextctl.core.knowledge.documents import Found, Library
from contextctl.core.knowledge.tools import answer_knowledge
from contextctl.core.search.bm25 import K1, B
from contextctl.io.documents import read_document, safe_id
from contextctl.io.profile.load import load_profile
from contextctl.io.profile.windows import resolve_window
from contextctl.io.runs.folder import RunFolder
from contextctl.io.runs.tasks import task_from_json
from contextctl.model.document import Document
from contextctl.run.run_tasks import Order, run_tasks

DOCS = "04_long_docs"
RANKS = (5, 10)
HITS = (1, 3, 5, 10)


def main() -> int:
    """Measure, and print a table or one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    folder = asked.data / DOCS
    with tempfile.TemporaryDirectory() as made:
        bank = Bank(folder, Path(made))
        out = {"bank": bank.found(), "window": bank.windows(), "spans": spans(folder)}
    print(json.dumps(out) if asked.json else _table(out))
    return 0


class Bank:
    """The documents written out as Markdown, and the tasks that need them."""

    def __init__(self, folder: Path, work: Path) -> None:
        self._work = work
        lines = (folder / "tau2_banking_knowledge_documents.jsonl").read_text("utf-8").splitlines()
        self._raw = {one["id"]: one for one in map(json.loads, lines)}
        self._names = {name: f"kb/{safe_id(name).replace('/', '_')}.md" for name in self._raw}
        (work / "kb").mkdir()
        for name, one in self._raw.items():
            path = work / self._names[name]
            path.write_text(f"# {one['title']}\n\n{one['content']}\n", "utf-8")
        tasks = (folder / "tau2_banking_knowledge_tasks.json").read_text("utf-8")
        self._tasks = json.loads(tasks)

    def found(self) -> dict[str, Any]:
        """Recall of required documents, with what a perfect and a plain ranking reach."""
        began = time.perf_counter()
        library = Library(list(_read(self._work)))
        library.search("warm up")
        built = time.perf_counter() - began
        ids = {file: name for name, file in self._names.items()}
        plain = Plain({name: f"{one['title']} {one['content']}" for name, one in self._raw.items()})
        rankings: dict[str, Callable[[str], list[str]]] = {
            "search_docs": lambda question: [ids[name] for name in ranked(library, question)],
            "plain": plain.ranked,
        }
        out: dict[str, Any] = {
            "documents": len(self._raw),
            "tasks": len(self._tasks),
            "index_s": round(built, 3),
        }
        for name, ranking in rankings.items():
            times: list[float] = []
            tops: list[list[str]] = []
            for task in self._tasks:
                began = time.perf_counter()
                tops.append(ranking(_question(task)))
                times.append(time.perf_counter() - began)
            out[name] = self._recall(tops) | {"ms": round(1000 * statistics.median(times), 1)}
        out["ceiling"] = self._recall([task["required_documents"] for task in self._tasks])
        return out

    def _recall(self, tops: Sequence[Sequence[str]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for rank in RANKS:
            pairs = [
                (set(top[:rank]), set(task["required_documents"]))
                for top, task in zip(tops, self._tasks, strict=True)
            ]
            shares = [len(top & needed) / len(needed) for top, needed in pairs]
            out[f"recall@{rank}"] = round(statistics.mean(shares), 3)
            out[f"found@{rank}"] = sum(len(top & needed) for top, needed in pairs)
        return out

    def windows(self) -> dict[str, Any]:
        """The main window's peaks over all tasks, with the delegate and without it."""
        delegated, alone = self._peaks(isolate=True), self._peaks(isolate=False)
        pairs = [(alone[name], delegated[name]) for name in delegated]
        return {
            "tasks": len(pairs),
            "read_by_delegate": _spread([with_one for _, with_one in pairs]),
            "read_in_main_window": _spread([without for without, _ in pairs]),
            "median_times_smaller": round(statistics.median(a / b for a, b in pairs), 1),
        }

    def _peaks(self, *, isolate: bool) -> dict[str, int]:
        """Tokens of each task's fullest main window, out of the ledgers of a run."""
        script, tasks = [], []
        for place, task in enumerate(self._tasks):
            name = f"t{place}"
            script += list(self._replies(name, task, isolate=isolate))
            line = {"id": name, "input": _question(task)[:600], "documents": ["kb"]}
            tasks.append(task_from_json(line, f"{self._work / 'tasks.jsonl'}:{place + 1}"))
        lines = "".join(json.dumps(line) + "\n" for line in script)
        (self._work / "replies.jsonl").write_text(lines, "utf-8")
        (self._work / "tasks.jsonl").touch()
        profile = self._work / "profile.yaml"
        profile.write_text(_PROFILE % json.dumps(isolate), "utf-8")
        folder = RunFolder(self._work / f"run-{isolate}")
        folder.path.mkdir()
        order = Order(resolve_window(load_profile(profile)), tuple(tasks), lambda: folder)
        summary, code = run_tasks(order)
        if code:
            raise SystemExit(f"the run failed: {summary.counts}")
        return {
            one.name: max(int(str(line["total"])) for line in one.read_ledger().values)
            for one in folder.tasks()
        }

    def _replies(
        self, name: str, task: Mapping[str, Any], *, isolate: bool
    ) -> Iterator[dict[str, Any]]:
        """The same reading, by a delegate or by the main agent."""
        reader = f"{name}/sub/1" if isolate else name
        question = _question(task)
        if isolate:
            yield {"task": name, **_call("a", "ask_knowledge", task=question[:1500])}
        yield {"task": reader, **_call("s", "search_docs", query=question[:1500])}
        for place, needed in enumerate(task["required_documents"]):
            where = {"doc": self._names[needed], "section": "1"}
            yield {"task": reader, **_call(f"r{place}", "read_section", **where)}
        cites = " ".join(f"[{self._names[n]}#1:L1-1]" for n in task["required_documents"])
        if isolate:
            yield {"task": reader, "content": f"What holds here: {'rule ' * 120} {cites}"}
        yield {"task": name, "content": "Done."}


_PROFILE = """version: 1
model: {name: scripted/replies.jsonl, window: 200000, reserve_output: 4096, retries: 0}
disclosure: {knowledge: {kb: {path: kb/, description: Internal rules and products of a bank}}}
remedies: {isolate: %s}
limits: {max_steps: 60}
shaping: {by_zone: {safe: full, warn: full, danger: full}}
"""


class Plain:
    """BM25 as it is usually written down, over whole documents."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._docs = {name: Counter(text.lower().split()) for name, text in texts.items()}
        self._lengths = {name: sum(doc.values()) for name, doc in self._docs.items()}
        self._mean = statistics.mean(self._lengths.values())
        self._having = Counter(term for doc in self._docs.values() for term in doc)

    def ranked(self, question: str) -> list[str]:
        """The names of the ten best."""
        terms = set(question.lower().split())
        count = len(self._docs)

        def score(name: str) -> float:
            doc, total = self._docs[name], 0.0
            norm = K1 * (1 - B + B * self._lengths[name] / self._mean)
            for term in terms & doc.keys():
                having = self._having[term]
                weight = log(1 + (count - having + 0.5) / (having + 0.5))
                total += weight * doc[term] * (K1 + 1) / (doc[term] + norm)
            return total

        return nlargest(max(RANKS), self._docs, key=score)


def ranked(library: Library, question: str) -> list[str]:
    """The first ten different documents of a search."""
    hits = library.search(question, limit=60, per_document=2)
    return list(dict.fromkeys(hit.document.id for hit in hits))[: max(RANKS)]


def spans(folder: Path) -> dict[str, Any]:
    """Whether hits lie in a span that answers, and how much of it reading their sections shows."""
    first: list[int] = []
    read = dict.fromkeys(HITS, 0.0)
    meetings = questions = 0
    times = []
    for line in _lines(folder / "qmsum_academic_val.jsonl", folder / "qmsum_committee_val.jsonl"):
        turns = line["meeting_transcripts"]
        text = "\n".join(f"{turn['speaker']}: {turn['content']}" for turn in turns)
        with tempfile.TemporaryDirectory() as made:
            (Path(made) / "meeting.txt").write_text(text, "utf-8")
            library = Library([_document(Path(made) / "meeting.txt", "meeting.txt")])
        meetings += 1
        for asked in line["specific_query_list"]:
            gold = {
                number + 1
                for begin, end in asked["relevant_text_span"]
                for number in range(int(begin), int(end) + 1)
            }
            began = time.perf_counter()
            hits = library.search(asked["query"], max(HITS))
            times.append(time.perf_counter() - began)
            questions += 1
            inside = [bool(gold & set(range(hit.first, hit.last + 1))) for hit in hits]
            first.append(inside.index(True) + 1 if any(inside) else 99)
            for count in HITS:
                read[count] += len(gold & _shown(library, hits[:count])) / len(gold)
    out: dict[str, Any] = {"meetings": meetings, "questions": questions}
    out |= {f"hit@{count}": round(sum(n <= count for n in first) / questions, 3) for count in HITS}
    out |= {f"span_read@{count}": round(read[count] / questions, 3) for count in HITS}
    return out | {"ms": round(1000 * statistics.median(times), 2)}


def _shown(library: Library, hits: Sequence[Found]) -> set[int]:
    """The lines that ``read_section`` shows for the sections of the hits."""
    lines: set[int] = set()
    for section in {hit.section.id for hit in hits}:
        asked: dict[str, Any] = {"doc": "meeting.txt", "section": section}
        while True:
            answer = answer_knowledge("read_section", asked, library)
            begin, end = str(answer["at"]).rpartition("L")[2].split("-")
            lines |= set(range(int(begin), int(end) + 1))
            if answer["next"] is None:
                break
            asked |= answer["next"]
    return lines


def _read(folder: Path) -> Iterator[Document]:
    for path in sorted((folder / "kb").iterdir()):
        yield _document(path, f"kb/{path.name}")


def _document(path: Path, name: str) -> Document:
    made = read_document(path, name)
    if not isinstance(made, Document):
        raise SystemExit(str(made))
    return made


def _question(task: Mapping[str, Any]) -> str:
    return str(task["user_scenario"]["instructions"])


def _call(own_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": own_id, "name": tool, "arguments": arguments}]}


def _lines(*paths: Path) -> Iterator[Any]:
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)


def _spread(values: Sequence[int]) -> dict[str, int]:
    return {"median": int(statistics.median(values)), "max": max(values)}


def _table(out: Mapping[str, Any]) -> str:
    bank, window, found = out["bank"], out["window"], out["spans"]
    rows = [f"{bank['documents']} documents, {bank['tasks']} tasks, indexed in {bank['index_s']} s"]
    for name in ("search_docs", "plain", "ceiling"):
        one = bank[name]
        times = f"   {one['ms']} ms a query" if "ms" in one else ""
        rows.append(
            f"  {name:12} recall@5 {one['recall@5']:.3f} ({one['found@5']})"
            f"   recall@10 {one['recall@10']:.3f} ({one['found@10']}){times}"
        )
    for name in ("read_by_delegate", "read_in_main_window"):
        words = name.replace("_", " ")
        one = window[name]
        rows.append(f"main window's peak, {words}: median {one['median']:,}, max {one['max']:,}")
    rows.append(f"  {window['median_times_smaller']} times smaller with the delegate")
    rows.append(f"{found['questions']} questions about {found['meetings']} meetings")
    rows += [
        f"  {name:12} " + "  ".join(f"@{n} {found[f'{name}@{n}']:.3f}" for n in HITS)
        for name in ("hit", "span_read")
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
