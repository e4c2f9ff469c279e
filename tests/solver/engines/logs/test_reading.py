"""Logs as files: of any encoding, any length, or not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solver.engines.logs import reading
from solver.engines.logs.reading import lines_of, read_log
from solver.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_shells_write_logs_in_several_encodings(tmp_path: Path, encoding: str) -> None:
    """Windows PowerShell writes what is redirected as UTF-16."""
    path = tmp_path / "run.log"
    path.write_text("größe\n", encoding=encoding)

    assert ("größe\n", True) == read_log(path)


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"a\xffb\x00")

    assert ("a\ufffdb\x00", True) == read_log(path)


def test_only_the_beginning_of_a_long_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LOG_BYTES", 4)
    path = tmp_path / "run.log"
    path.write_text("abcd", encoding="utf-8")

    assert ("abcd", True) == read_log(path)
    path.write_text("abcde", encoding="utf-8")
    assert ("abcd", False) == read_log(path)


def test_lines_lose_their_colours_and_what_is_behind_a_sensible_length() -> None:
    assert ["ab", "x" * 2000] == lines_of("\x1b[1;36ma\x1b[0mb\n" + "x" * 5000)


def test_a_log_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_log(tmp_path / "none.log")
    assert (f"{tmp_path / 'none.log'}: there is no such file; expected a log. Check the path.") == str(caught.value)
    with pytest.raises(InputError) as folder:
        read_log(tmp_path)
    assert f"{tmp_path}: it is a folder; expected a log. Name the file." == str(folder.value)
