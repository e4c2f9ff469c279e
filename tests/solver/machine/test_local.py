"""The computer that runs this program, asked for files, commands and a library that may be missing or broken."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

from solver.machine.local import LocalMachine
from solver.machine.machine import LibraryCard, natural

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MACHINE = LocalMachine()


def library(**changes: object) -> ModuleType:
    """Return a module like `pynvml` with two cards, of which the first has a memory."""

    def memory(handle: int, version: int = 1) -> SimpleNamespace:
        if handle == 1:
            raise RuntimeError("Not Supported")
        kept = {"reserved": 5} if version == 2 else {}
        return SimpleNamespace(total=100, used=7, **kept)

    module = ModuleType("pynvml")
    functions = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlMemory_v2": 2,
        "nvmlDeviceGetMemoryInfo": memory,
        "nvmlDeviceGetMigMode": lambda _: [0, 1],
        "nvmlDeviceGetName": lambda handle: (b"first", "second")[handle],
        "nvmlDeviceGetPciInfo": lambda handle: SimpleNamespace(busId=f"00000000:0{handle}:00.0"),
    }
    for name, function in (functions | changes).items():
        if function is not None:
            setattr(module, name, function)
    return module


def test_files_and_folders_are_read_and_absent_ones_are_none(tmp_path: Path) -> None:
    """Also what no path can be, and text that is not UTF-8."""
    (tmp_path / "b").write_bytes(b"12\xff\n")
    (tmp_path / "a").mkdir()

    assert "12\ufffd\n" == MACHINE.text(str(tmp_path / "b"))
    assert [None, None, None] == [MACHINE.text(str(path)) for path in (tmp_path, tmp_path / "c", "a\0b")]
    assert ("a", "b") == MACHINE.names(str(tmp_path))
    assert [(), ()] == [MACHINE.names(path) for path in (str(tmp_path / "b"), "a\0b")]


def test_only_the_beginning_of_an_endless_file_is_read() -> None:
    text = MACHINE.text("/dev/zero")

    assert text is None or 2**20 == len(text)


def test_commands_that_are_absent_or_fail_say_nothing() -> None:
    """No shell reads them."""
    said = MACHINE.output(sys.executable, "-c", "import sys; print(sys.argv[1])", "$HOME; ls")

    assert "$HOME; ls\n" == said.replace("\r", "") if said is not None else said
    assert MACHINE.output(sys.executable, "-c", "raise SystemExit(3)") is None
    assert MACHINE.output("layerfit-no-such-command") is None


def test_the_computer_names_itself() -> None:
    assert MACHINE.system
    assert isinstance(MACHINE.host_name, str)


def test_cards_are_listed_by_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card whose memory it cannot tell has none; MIG is on where its first answer says so."""
    monkeypatch.setitem(sys.modules, "pynvml", library())

    assert (
        LibraryCard("first", "00000000:00:00.0", 100, 5, 7, divided=False),
        LibraryCard("second", "00000000:01:00.0", None, 0, None, divided=False),
    ) == MACHINE.nvidia_library()


def test_an_old_library_says_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules,
        "pynvml",
        library(nvmlMemory_v2=None, nvmlDeviceGetMigMode=None, nvmlDeviceGetCount=lambda: 1),
    )

    assert (LibraryCard("first", "00000000:00:00.0", 100, 0, 7, divided=False),) == MACHINE.nvidia_library()


def test_without_a_library_or_a_driver_there_are_no_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what breaks half way is as good as none."""

    def broken(*_: object) -> None:
        raise OSError("libnvidia-ml.so.1")

    for module in (None, library(nvmlInit=broken), library(nvmlDeviceGetName=broken)):
        monkeypatch.setitem(sys.modules, "pynvml", module)

        assert MACHINE.nvidia_library() is None


def test_numbers_are_taken_strictly() -> None:
    texts = ("12", " 12\n", "-1", "1.5", "0x10", "", "\u0663", "9" * 19, None)

    assert [12, 12, None, None, None, None, None, None, None] == [natural(text) for text in texts]
