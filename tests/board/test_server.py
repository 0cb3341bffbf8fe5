"""The board over HTTP, as a browser and as a stranger meet it: real requests to a real server."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.board.run_folders import finished, stuck, training
from unstall.board.access import AccessControl
from unstall.board.server import BoardState, Server

TOKEN = "a-token-of-enough-letters"
HOSTILE = "<img src=x onerror=alert(1)>&'\""


class Asked:
    def __init__(self, port: int, path: str, method: str = "GET", **headers: str) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        self.status, self.headers = answer.status, answer.headers
        self.text = answer.read().decode()
        connection.close()


@contextmanager
def serving(folder: Path, token: str | None = None) -> Iterator[int]:
    server = Server(("127.0.0.1", 0), BoardState(folder, AccessControl(token, "board"), "this-board"))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with serving(tmp_path) as found:
        yield found


def test_the_list_has_every_run_and_what_is_stuck_is_said_in_the_title(tmp_path: Path, port: int) -> None:
    finished(tmp_path, "done")
    stuck(tmp_path, "stands")
    page = Asked(port, "/")
    assert page.status == 200
    assert "<title>✖ 1 stuck – Unstall</title>" in page.text
    assert 'href="run/done"' in page.text and 'href="run/stands"' in page.text
    assert page.text.index("run-stands") < page.text.index("run-done")
    rows = json.loads(Asked(port, "/runs.json").text)["runs"]
    assert [(row["run"], row["state"]) for row in rows] == [("stands", "stuck"), ("done", "done")]


def test_a_page_asks_for_what_is_new_to_it_alone(tmp_path: Path, port: int) -> None:
    finished(tmp_path, "done")
    first = json.loads(Asked(port, "/rows?after=").text)
    assert list(first["rows"]) == ["done"] and first["order"] == ["done"]
    again = json.loads(Asked(port, f"/rows?after={first['version']}").text)
    assert (again["rows"], again["gone"], again["order"]) == ({}, [], None)
    of_another_process = json.loads(Asked(port, "/rows?after=abcdef.99").text)
    assert list(of_another_process["rows"]) == ["done"]


def test_the_page_of_a_run_is_that_of_the_report_and_its_story_is_json(tmp_path: Path, port: int) -> None:
    training(tmp_path, "trains")
    page = Asked(port, "/run/trains")
    assert page.status == 200 and '<span class="state state-training">' in page.text and 'id="plot-loss"' in page.text
    story = json.loads(Asked(port, "/story/trains").text)
    assert (story["run"], story["state"], story["verdicts"]) == ("trains", "training", [])


def test_a_page_that_has_not_changed_is_not_sent_again(tmp_path: Path, port: int) -> None:
    finished(tmp_path, "done")
    page = Asked(port, "/run/done")
    again = Asked(port, "/run/done", If_None_Match=page.headers["ETag"])
    assert (again.status, again.text) == (304, "")


def test_a_run_that_was_removed_is_gone(tmp_path: Path, port: int) -> None:
    run = finished(tmp_path, "done")
    assert Asked(port, "/run/done").status == 200
    shutil.rmtree(run.path)
    gone = Asked(port, "/run/done")
    assert (gone.status, "the run is gone" in gone.text) == (404, True)


def test_a_page_may_be_opened_before_the_program_is_started_and_right_after_the_list(tmp_path: Path, port: int) -> None:
    assert Asked(port, "/").status == 200
    (tmp_path / "begins").mkdir()
    page = Asked(port, "/run/begins")
    assert page.status == 200 and 'data-live="yes"' in page.text and "state-starting" in page.text


def test_a_damaged_run_is_said_and_the_others_are_shown(tmp_path: Path, port: int) -> None:
    broken = training(tmp_path, "broken")
    with broken.journal.open("a") as file:
        file.write(f'{{"event":"StepsEnded","at":{time.time()},"first":[],"last":{{}}}}\n' * 3)
    odd = training(tmp_path, "odd")
    with odd.journal.open("a") as file:
        file.write('{"event":"StepsEnded","at":"soon"}\n' * 3)
    training(tmp_path, "whole")
    assert Asked(port, "/").status == 200
    answer = Asked(port, "/run/broken")
    assert answer.status == 500 and "cannot be shown" in answer.text and "Traceback" not in answer.text
    assert "3 lines could not be read" in Asked(port, "/run/odd").text
    assert Asked(port, "/run/whole").status == 200


# --- it is only for looking, and only for those who may ---


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "NONSENSE"])
def test_nothing_but_looking_is_answered(method: str, port: int) -> None:
    answer = Asked(port, "/", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_head_is_the_same_without_its_body(port: int) -> None:
    head, page = Asked(port, "/", "HEAD"), Asked(port, "/")
    assert (head.status, head.text) == (200, "")
    assert int(head.headers["Content-Length"]) > 1000 and page.text


def test_a_stranger_s_name_for_this_machine_is_refused(port: int) -> None:
    answer = Asked(port, "/", Host="evil.example")
    assert answer.status == 421 and "html" not in answer.text


@pytest.mark.parametrize(
    "path",
    ["/run/..", "/run/../..", "/run/..%2f..%2fetc", "/run/%2e%2e", "/run//etc/passwd", "/run/private/../../x", "/etc/passwd", "/run/a%00b",
     "/static/run.css", "/run/", "/run", "/story/..", "/.board", "/run/%ff", "/rows/x", "/run/" + "x" * 5000],
)  # fmt: skip
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    training(tmp_path, "outside")
    (tmp_path / "inside").mkdir()
    with serving(tmp_path / "inside") as port:
        assert Asked(port, path).status == 404


def test_what_is_no_request_is_refused_and_the_next_is_answered(port: int) -> None:
    for nonsense in (
        b"\x16\x03\x01 hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=120) as plain:
            plain.sendall(nonsense)
            assert b"Traceback" not in plain.recv(65536)
    assert Asked(port, "/").status == 200


def test_every_answer_forbids_frames_guessing_and_foreign_scripts(tmp_path: Path, port: int) -> None:
    training(tmp_path, "trains")
    for path in ("/", "/run/trains", "/runs.json", "/nowhere"):
        headers = Asked(port, path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers


def test_with_a_token_nothing_is_told_without_it(tmp_path: Path) -> None:
    training(tmp_path, "trains")
    with serving(tmp_path, TOKEN) as port:
        for path in ("/", "/rows", "/runs.json", "/run/trains", "/story/trains", "/alive", "/nowhere", "/?token=wrong"):
            answer = Asked(port, path)
            assert answer.status == 401 and "trains" not in answer.text and TOKEN not in answer.text
        first = Asked(port, f"/run/trains?token={TOKEN}")
        assert (first.status, first.headers["Location"], first.text) == (303, "/run/trains", "")
        cookie = first.headers["Set-Cookie"].partition(";")[0]
        assert Asked(port, "/run/trains", Cookie=cookie).status == 200
        assert Asked(port, "/runs.json", Authorization=f"Bearer {TOKEN}").status == 200


def test_the_token_leads_nowhere_else(tmp_path: Path) -> None:
    with serving(tmp_path, TOKEN) as port:
        for path in ("//evil.example/", "/\\evil.example", "///evil.example", "http://evil.example/"):
            location = Asked(port, f"{path}?token={TOKEN}").headers["Location"]
            assert location.startswith("/") and not location.startswith(("//", "/\\"))


def test_hostile_names_are_escaped(tmp_path: Path, port: int) -> None:
    training(tmp_path, HOSTILE).starts(f"python {HOSTILE}/train.py")
    assert "<img" not in Asked(port, "/").text
    assert "<img" not in "".join(json.loads(Asked(port, "/rows").text)["rows"].values())
    (address,) = {part.partition('"')[0] for part in Asked(port, "/").text.split('href="')[1:] if part.startswith("run/")}
    page = Asked(port, f"/{address}")
    assert page.status == 200 and "<img" not in page.text
