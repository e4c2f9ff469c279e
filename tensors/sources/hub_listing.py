"""What huggingface_hub says of a repository: its files, the commit they are of, and the token to read them with."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import SourceError
from tensors.sources.address import shown_location
from tensors.sources.client import GRACE_SECONDS
from tensors.sources.patience import PassingError, Patience, passing_status
from tensors.sources.protocols import is_plain
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile, RepoSibling

    from tensors.sources.threads import Deadline

__all__ = ["HubFile", "Listing", "list_repository"]

_ANSWER_SECONDS = 15.0
_UNKNOWN_READER, _REFUSED = 401, 403
_NO_CONNECTION = ("ConnectError", "UnsupportedProtocol", "ProxyError")


class HubFile(NamedTuple):
    """A file of a repository: its size and the digest of its content, None where the listing lacks them."""

    size: int | None
    digest: str | None


class Listing(NamedTuple):
    """The files of a repository by path, at one commit."""

    repository: str
    commit: str
    files: Mapping[str, HubFile]
    endpoint: str
    token: str | None

    def url_of(self, path: str) -> str:
        """Return where the hub gives a file, or leads on to where it is."""
        from huggingface_hub import hf_hub_url  # noqa: PLC0415 - an extra

        return hf_hub_url(self.repository, path, revision=self.commit, endpoint=self.endpoint)

    def cache_key_of(self, path: str) -> str:
        """Return under what the header of a file is kept: the same for every commit, as its digest tells versions."""
        return f"{shown_location(self.endpoint)}/{self.repository}/{path}"


def list_repository(repository: str, revision: str | None, location: str, deadline: Deadline) -> Listing:
    """Ask the hub for the files of a repository.

    Raises:
        SourceError: there is no such repository or revision, or the hub cannot be asked.
    """
    from huggingface_hub import HfApi, constants, errors, get_token  # noqa: PLC0415 - an extra

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT", "").rstrip("/") or None, library_name="layerfit")

    def ask() -> Listing:
        try:
            info = api.model_info(
                repository,
                revision=revision,
                files_metadata=True,
                timeout=min(_ANSWER_SECONDS, deadline.remaining() + GRACE_SECONDS),
            )
            commit = info.sha or revision or "main"
            files = _files((file.rfilename, file) for file in info.siblings or ())
            if any(file.size is None for file in files.values()) or not files:
                # Some hubs say sizes only there; without, each file is asked for its own.
                with suppress(errors.HfHubHTTPError):
                    files |= _tree(api, repository, commit)
            token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
            return Listing(repository, commit, files, api.endpoint, token)
        except Exception as error:  # noqa: BLE001 - every version of the library has a web client with its own errors
            raise _failure(error, revision, location, shown_location(api.endpoint)) from None

    with _nothing_else_asked():
        return Patience(deadline, location).until_given(ask)


@contextmanager
def _nothing_else_asked() -> Iterator[None]:
    """Keep the library from asking the hub, for its statistics, which programs of this machine might be at work."""
    from huggingface_hub import constants  # noqa: PLC0415 - an extra

    before = constants.HF_HUB_DISABLE_TELEMETRY
    constants.HF_HUB_DISABLE_TELEMETRY = True
    try:
        yield
    finally:
        constants.HF_HUB_DISABLE_TELEMETRY = before


def _tree(api: HfApi, repository: str, commit: str) -> dict[str, HubFile]:
    """List a repository by its folders."""
    from huggingface_hub.hf_api import RepoFile  # noqa: PLC0415 - an extra

    entries = api.list_repo_tree(repository, recursive=True, revision=commit)
    return _files((entry.path, entry) for entry in entries if isinstance(entry, RepoFile))


def _files(entries: Iterable[tuple[str, RepoSibling | RepoFile]]) -> dict[str, HubFile]:
    """Return files whose paths stay inside the repository; the digest is that of the content, or git's."""
    files: dict[str, HubFile] = {}
    for path, entry in entries:
        if all(is_plain(name) for name in path.split("/")):
            digest = entry.blob_id if entry.lfs is None else entry.lfs.sha256
            files[path] = HubFile(entry.size, digest)
    return files


def _failure(error: Exception, revision: str | None, location: str, endpoint: str) -> SourceError | PassingError:
    from huggingface_hub import errors  # noqa: PLC0415 - an extra

    match error:
        case errors.OfflineModeIsEnabled():
            problem = "HF_HUB_OFFLINE is set; expected a hub that may be asked. Unset it, or name a folder on disk."
        case errors.RevisionNotFoundError():
            problem = f"there is no revision {quoted(revision or 'main')}; expected a branch, a tag or a commit."
            problem = f"{problem} Check its name."
        case errors.RepositoryNotFoundError():
            problem = "there is no such repository, or it is closed to others; expected ORG/REPO. Check the name, or"
            problem = f"{problem} set HF_TOKEN to a token that may read it."
        case errors.HfHubHTTPError():
            return _status_failure(error, location)
        case errors.HFValidationError():
            problem = "the hub has no such names; expected hf://ORG/REPO. Check it."
        case _:
            return _broken(error, location, endpoint)
    return SourceError(location, problem)


def _status_failure(error: Exception, location: str) -> SourceError | PassingError:
    response = getattr(error, "response", None)
    status = int(getattr(response, "status_code", 0))
    passing = passing_status(status, getattr(response, "headers", {}))
    if passing is not None:
        return passing
    problem = f"the hub answers with status {status}; expected the files of the repository."
    if status == _UNKNOWN_READER:
        problem = f"the hub does not accept the token, status {status}; expected one that is valid."
        return SourceError(location, f"{problem} Check HF_TOKEN.")
    if status == _REFUSED:
        problem = f"the hub refuses to list it, status {status}; expected a repository that you may read."
        return SourceError(location, f"{problem} Set HF_TOKEN to a token that may.")
    return SourceError(location, f"{problem} Check the name.")


def _broken(error: Exception, location: str, endpoint: str) -> SourceError | PassingError:
    """Tell failures of the network by the names of their classes, which all web clients share."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    if any("Timeout" in kind for kind in kinds):
        return PassingError(f"the hub is silent for {_ANSWER_SECONDS:g} s")
    if any(kind in _NO_CONNECTION for kind in kinds):
        problem = f"the hub at {quoted(endpoint)} cannot be reached; expected its answer."
        return SourceError(location, f"{problem} Check the network, and HF_ENDPOINT if you set it.")
    if any(kind in {"NetworkError", "ProtocolError", "RemoteProtocolError"} for kind in kinds):
        return PassingError("the hub breaks the connection")
    problem = f"the listing of the hub at {quoted(endpoint)} cannot be read; expected the files of the repository."
    return SourceError(location, f"{problem} Try again later.")
