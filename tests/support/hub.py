"""A hub on this machine that speaks the paths which huggingface_hub asks for, and the store that it leads on to."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

from support.web import WebServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.web import Handler

__all__ = ["COMMIT", "Hub"]

COMMIT = "c" * 40
_MODEL = re.compile(r"/api/models/([^/]+/[^/]+)(?:/revision/([^/]+))?")
_TREE = re.compile(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)")
_RESOLVE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


@dataclass
class Hub:
    """Repositories of files by path. `token` is what readers must show, if anything; large files lie in the store."""

    repositories: dict[str, dict[str, Path | bytes]] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=lambda: {"main": COMMIT, COMMIT: COMMIT})
    token: str | None = None
    gated: bool = False
    lists_sizes: bool = True
    lists_trees: bool = True
    web: WebServer = field(default_factory=WebServer)
    store: WebServer = field(default_factory=WebServer)

    def __enter__(self) -> Self:
        """Begin to answer."""
        self.web.routes.append(self._route)
        with ExitStack() as stack:
            stack.enter_context(self.web)
            stack.enter_context(self.store)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop."""
        self._stack.close()

    def add(self, repository: str, files: dict[str, Path | bytes]) -> None:
        """Put files into a repository, and into the store under the same paths."""
        self.repositories.setdefault(repository, {}).update(files)
        self.store.files |= {f"/{repository}/{path}": file for path, file in files.items()}

    def add_folder(self, repository: str, folder: Path, prefix: str = "") -> None:
        """Put all files of a folder into a repository."""
        self.add(repository, {prefix + path.name: path for path in folder.iterdir()})

    @property
    def paths(self) -> list[str]:
        """Return what the hub itself was asked, with queries; versions of huggingface_hub write True and true."""
        return [f"{r.path}?{r.query.lower()}" if r.query else r.path for r in self.web.requests]

    def forget(self) -> None:
        """Forget the requests so far."""
        self.web.forget()
        self.store.forget()

    def _route(self, handler: Handler) -> bool:
        path = handler.request_record.path
        answers: list[tuple[re.Pattern[str], Callable[..., None]]] = [
            (_MODEL, self._model),
            (_TREE, self._tree),
            (_RESOLVE, self._resolve),
        ]
        for pattern, answer in answers:
            match = pattern.fullmatch(path)
            if match is not None:
                answer(handler, *(unquote(text or "main") for text in match.groups()))
                return True
        return False

    def _admits(self, handler: Handler) -> bool:
        return self.token is None or handler.headers.get("Authorization") == f"Bearer {self.token}"

    def _model(self, handler: Handler, repository: str, revision: str) -> None:
        if repository not in self.repositories or not self._admits(handler):
            handler.simple(401 if self.token else 404, b"{}", X_Error_Code="RepoNotFound")
        elif revision not in self.revisions:
            handler.simple(404, b"{}", X_Error_Code="RevisionNotFound")
        else:
            commit = self.revisions[revision]
            siblings = [self._sibling(repository, path) for path in self.repositories[repository]]
            _send(handler, {"id": repository, "sha": commit, "siblings": siblings, "tags": [], "private": False})

    def _sibling(self, repository: str, path: str) -> dict[str, object]:
        if not self.lists_sizes:
            return {"rfilename": path}
        size, digest = self._facts(repository, path)
        lfs = {"size": size, "sha256": digest, "pointerSize": 134} if _is_large(path) else None
        return {"rfilename": path, "size": size, "blobId": digest[:40]} | ({"lfs": lfs} if lfs else {})

    def _tree(self, handler: Handler, repository: str, revision: str) -> None:
        if not self.lists_trees or revision not in self.revisions:
            handler.simple(404, b"{}")
            return
        entries = []
        for path in self.repositories[repository]:
            size, digest = self._facts(repository, path)
            lfs = {"lfs": {"size": size, "oid": digest, "pointerSize": 134}} if _is_large(path) else {}
            entries.append({"type": "file", "oid": digest[:40], "size": size, "path": path} | lfs)
        _send(handler, entries)

    def _facts(self, repository: str, path: str) -> tuple[int, str]:
        file = self.repositories[repository][path]
        size = len(file) if isinstance(file, bytes) else file.stat().st_size
        return size, hashlib.sha256(f"{path} {size}".encode()).hexdigest()

    def _resolve(self, handler: Handler, repository: str, revision: str, path: str) -> None:
        if self.gated:
            handler.simple(403, b"{}", X_Error_Code="GatedRepo")
        elif not self._admits(handler):
            handler.simple(401, b"{}")
        elif revision not in self.revisions or path not in self.repositories[repository]:
            handler.simple(404, b"{}", X_Error_Code="EntryNotFound")
        elif _is_large(path):
            place = self.store.url(f"/{repository}/{path}")
            handler.simple(302, Location=f"{place}?Signature=secret-signature", X_Linked_Etag='"linked"')
        else:
            handler.web.files[handler.request_record.path] = self.repositories[repository][path]
            handler.serve(handler.request_record.path)


def _is_large(path: str) -> bool:
    return path.endswith((".gguf", ".safetensors"))


def _send(handler: Handler, document: object) -> None:
    handler.simple(200, json.dumps(document).encode(), Content_Type="application/json")
