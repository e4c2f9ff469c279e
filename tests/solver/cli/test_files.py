"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path

import pytest

from solver.cli.files import check_apart, check_folder, write_file
from solver.errors import UsageError


def test_a_file_is_written_with_the_rights_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_file(tmp_path / "new.json", "{…}\n")

    assert "{…}\n" == (tmp_path / "new.json").read_text(encoding="utf-8")
    assert stat.S_IMODE((tmp_path / "plain").stat().st_mode) == stat.S_IMODE((tmp_path / "new.json").stat().st_mode)


def test_a_file_that_is_there_is_replaced_in_one_step(tmp_path: Path) -> None:
    """Whoever has it open goes on reading the old one."""
    path = tmp_path / "plan.json"
    path.write_text("old")
    with path.open(encoding="utf-8") as reader:
        write_file(path, "new")

        assert ("old", "new") == (reader.read(), path.read_text())


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_that_cannot_be_finished_leaves_the_old_one_and_nothing_beside_it(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    path = tmp_path / "plan.json"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(type(error)):
        write_file(path, "new")

    assert [path] == list(tmp_path.iterdir())
    assert "old" == path.read_text()


def test_a_folder_that_is_not_there_is_named_before_anything_else_happens(tmp_path: Path) -> None:
    path = tmp_path / "no" / "a.json"
    for refuse in (partial(check_folder, path), partial(write_file, path, "")):
        with pytest.raises(FileNotFoundError) as caught:
            refuse()

        assert str(tmp_path / "no") == caught.value.filename
    check_folder(tmp_path / "a.json")


def test_a_device_is_written_and_not_replaced(tmp_path: Path) -> None:
    """As /dev/stdout is, or a named pipe that another program reads."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_file(path, "text")

    assert b"text" == os.read(reader, 100)
    assert stat.S_ISFIFO(path.stat().st_mode)
    os.close(reader)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, "text")


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    """Not under another name either; a file that is not there yet, or another one, may be written."""
    path, link = tmp_path / "problem.json", tmp_path / "link.json"
    path.write_text("{}")
    link.symlink_to(path)
    check_apart(tmp_path / "new.json", path, None)
    with pytest.raises(UsageError) as caught:
        check_apart(link, None, path)

    assert f"{link}: it is an input too; expected a file of its own to write. Name another." == str(caught.value)
