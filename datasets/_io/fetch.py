"""Find, download, unpack and verify the files of a data set.

Nothing is unpacked to disk: files are read out of their archives. A download gets its final name
only after all of its content was read and its SHA-256 was checked, so that a file with a final
name is complete.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from tqdm import tqdm

from .._errors import DataFileError, DataFileNotFoundError, optional_import
from .spec import File, Spec
from .unpack import COMPRESSED, read_plain, read_zip

ENVIRONMENT = "MDDF_DATA_HOME"
_TIMEOUT = 60  # seconds without an answer before a download is given up; not tuned
_CHUNK = 2**16  # bytes; pooch's own default of 1024 is slow for large files


@dataclass
class Access:
    """Data home, and options for downloads and checks.

    Attributes
    ----------
    home : Path
        The data home; each set has a folder in it.
    download : bool
        Whether missing files are downloaded.
    progress : bool
        Whether a bar shows the progress of downloads.
    check_hash : bool
        Whether SHA-256 sums are compared.
    verified : set of Path
        Archives whose sum is right. An archive holds many files, and its sum is computed once.
    """

    home: Path
    download: bool = True
    progress: bool = True
    check_hash: bool = True
    verified: set[Path] = field(default_factory=set)

    def verify(self, path: Path, content: bytes, expected: str | None, note: str) -> None:
        """Compare the sum of `content` with the expected one, if there is one."""
        if not self.check_hash or expected is None:
            return
        got = hashlib.sha256(content).hexdigest()
        if got != expected:
            scope = " of the uncompressed content" if path.suffix in COMPRESSED else ""
            raise DataFileError(
                f"{path}: SHA-256{scope} must be {expected}, got {got}: the file is damaged or"
                f" another one. {note}"
            )


def find_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the data home: the argument, else ``MDDF_DATA_HOME``, else a cache folder."""
    if data_home is not None:
        if not isinstance(data_home, str | os.PathLike):
            raise TypeError(f"data_home must be a path or None, got {data_home!r}")
        return Path(data_home).expanduser()
    if chosen := os.environ.get(ENVIRONMENT):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return base.expanduser() / "mddf" / "datasets"


def read_files(spec: Spec, access: Access) -> dict[str, bytes]:
    """Read all files of a set, uncompressed and by `File.name`; missing files are downloaded."""
    folder = access.home / spec.folder
    content = {}
    for file in spec.files:
        path = locate(folder, file)
        if path is None:
            path = _download(spec, file, folder, access)
        content[file.name] = _read(path, file, access)
    return content


def locate(folder: Path, file: File) -> Path | None:
    """Find a file, a compressed form of it, or its archive in the folder of the set."""
    forms = [file.name, *(file.name + suffix for suffix in COMPRESSED)]
    if file.archive is not None:
        forms.append(file.archive.name)
    return next((folder / form for form in forms if (folder / form).is_file()), None)


def _read(path: Path, file: File, access: Access) -> bytes:
    """Read and verify a file at a path from `locate`."""
    if file.archive is not None and path.name == file.archive.name:
        if path not in access.verified:
            access.verify(path, path.read_bytes(), file.archive.sha256, _note(file))
            access.verified.add(path)
        content = read_zip(path, file.member or file.name)
    else:
        content = read_plain(path)
    access.verify(path, content, file.sha256, _note(file))
    return content


def _note(file: File) -> str:
    """Advice for a wrong sum, as the end of a message."""
    copy = "The known sum is of one copy of this set, and another good copy can differ; "
    return f"{'' if file.upstream_sum else copy}check_hash=False reads it all the same"


def _download(spec: Spec, file: File, folder: Path, access: Access) -> Path:
    """Download the file, or the archive that holds it, into the folder of the set."""
    if file.archive is not None:
        url = file.archive.url
        target = folder / file.archive.name
        sha256 = file.archive.sha256
    else:
        url = file.url or ""
        suffix = next((s for s in COMPRESSED if url.endswith(s)), "")
        target = folder / (file.name + suffix)
        # The sum is of the uncompressed bytes, so that `_read` checks a compressed file below.
        sha256 = None if suffix else file.sha256
    if not url:
        raise _missing(spec, file, folder, "this set has no address to download it from")
    if not access.download:
        raise _missing(spec, file, folder, "download=False")
    try:
        pooch = optional_import("pooch", f"downloading data set {spec.name!r}")
    except ImportError as error:
        raise ImportError(f"{error}. {_missing(spec, file, folder, 'no pooch')}") from None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part_folder = tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent)
    except OSError as error:
        raise _missing(spec, file, folder, f"the folder cannot be written: {error}") from None
    with part_folder as scratch:
        try:
            part = _retrieve(
                pooch,
                url,
                Path(scratch) / target.name,
                sha256=sha256 if access.check_hash else None,
                progress=access.progress,
            )
        except OSError as error:  # errors of requests are OSErrors
            reason = f"downloading {url} failed: {error}"
            raise _missing(spec, file, folder, reason) from None
        except ValueError as error:  # pooch raises it for a wrong sum
            raise DataFileError(f"{url}: {error} {_note(file)}") from None
        _read(part, file, access)
        # Only the owner can read temporary files, but a data home may be shared: copy the mode
        # that a new file gets.
        (Path(scratch) / ".mode").touch()
        shutil.copymode(Path(scratch) / ".mode", part)
        os.replace(part, target)
    return target


def _missing(spec: Spec, file: File, folder: Path, reason: str) -> DataFileNotFoundError:
    """Make an error that names the missing file, the folder, and addresses to get it from."""
    forms = ["as it is", *(f"as {suffix}" for suffix in COMPRESSED)]
    url = file.url
    if file.archive is not None:
        forms.append(f"in {file.archive.name!r}")
        url = file.archive.url
    return DataFileNotFoundError(
        f"data set {spec.name!r}: file {file.name!r} is missing\n"
        f"  looked in: {folder} ({', '.join(forms)})\n"
        f"  not downloaded: {reason}\n"
        f"  get it from: {spec.source}{f' or {url}' if url else ''}"
        f"{f' ({spec.hint})' if spec.hint else ''}\n"
        f"  and put it into that folder, or set data_home or {ENVIRONMENT} to a folder that has"
        f" {spec.folder}/{file.name}"
    )


def _retrieve(
    pooch: ModuleType, url: str, path: Path, *, sha256: str | None, progress: bool
) -> Path:
    """Download to a path, with a progress bar."""
    logger = pooch.get_logger()
    disabled = logger.disabled
    # The bar replaces pooch's messages. The logger is disabled as a whole: logging.getLogger does
    # not manage it, so that it ignores a change of its level after its first use.
    logger.disabled = True
    try:
        # total=1 until pooch knows the size: pooch uses the bar as a truth value, which a bar
        # without a total does not have.
        with tqdm(desc=path.name, total=1, unit="B", unit_scale=True, disable=not progress) as bar:
            pooch.retrieve(
                url,
                known_hash=sha256,
                fname=path.name,
                path=path.parent,
                downloader=pooch.HTTPDownloader(
                    progressbar=bar, chunk_size=_CHUNK, timeout=_TIMEOUT
                ),
            )
            return path
    finally:
        logger.disabled = disabled
