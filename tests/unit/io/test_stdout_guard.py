from __future__ import annotations

import sys
import threading

from contextctl.io.models.stdout_guard import drop, stdout_to


def test_only_the_guarded_thread_is_redirected(capsys):
    caught: list[str] = []
    inside, outside = threading.Event(), threading.Event()

    def guarded() -> None:
        with stdout_to(caught.append):
            inside.set()
            outside.wait(5)
            print("from the guarded thread")

    thread = threading.Thread(target=guarded)
    thread.start()
    inside.wait(5)
    print("from the other thread")
    outside.set()
    thread.join()
    assert "".join(caught) == "from the guarded thread\n"
    assert capsys.readouterr().out == "from the other thread\n"


def test_guards_nest_and_the_stream_is_put_back(capsys):
    before = sys.stdout
    outer: list[str] = []
    with stdout_to(outer.append):
        with stdout_to(drop):
            print("dropped")
        print("kept", flush=True)
    print("shown")
    assert "".join(outer) == "kept\n"
    assert sys.stdout is before
    assert capsys.readouterr().out == "shown\n"


def test_what_asks_the_stream_for_more_gets_the_real_one():
    with stdout_to(drop):
        assert sys.stdout.encoding
        assert sys.stdout.isatty() in {True, False}
