"""Find, download, unpack and verify the files of a data set.

Nothing is ever unpacked to disk: archives are read where they lie. A download gets its name only
after its whole content was read and its sums agreed, so a file that has its name is whole.
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
_TIMEOUT = 60  # seconds without an answer before a download is given up
_CHUNK = 2**16  # bytes; pooch's own default is slow for large files


@dataclass
class Access:
    """Where files are looked for and what may be done to get them.

    Attributes
    ----------
    home : Path
        The data home; each set has a folder in it.
    download : bool
        Whether missing files are downloaded.
    progress : bool
        Whether a bar shows the progress of downloads.
    check_hash : bool
        Whether sums are compared.
    verified : set of Path
        Archives whose sum was found right; each holds many files and is summed once.
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
            what = " of the uncompressed content" if path.suffix in COMPRESSED else ""
            raise DataFileError(
                f"{path}: SHA-256{what} must be {expected}, got {got}: the file is damaged or"
                f" another one. {note}"
            )


def find_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the data home: the argument, else ``MDDF_DATA_HOME``, else a cache folder.

    Parameters
    ----------
    data_home : path, optional
        A folder; ``~`` stands for the user's home.

    Returns
    -------
    home : Path
        It need not exist.
    """
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
    """Read all files of a set, downloading those that are missing.

    Parameters
    ----------
    spec : Spec
    access : Access

    Returns
    -------
    content : dict of str to bytes
        Uncompressed content by `File.name`.

    Raises
    ------
    DataFileError
        If a file is damaged, hostile, or another one than it should be.
    DataFileNotFoundError
        If a file is missing and cannot be downloaded.
    ImportError
        If a file has to be downloaded and pooch is not installed.
    """
    folder = access.home / spec.folder
    content = {}
    for file in spec.files:
        path = locate(folder, file)
        if path is None:
            path = _download(spec, file, folder, access)
        content[file.name] = _read(path, file, access)
    return content


def locate(folder: Path, file: File) -> Path | None:
    """Find a file, a compressed form of it, or its archive.

    Parameters
    ----------
    folder : Path
        Of the set.
    file : File

    Returns
    -------
    path : Path or None
        None if none is there.
    """
    forms = [file.name, *(file.name + suffix for suffix in COMPRESSED)]
    if file.archive is not None:
        forms.append(file.archive.name)
    return next((folder / form for form in forms if (folder / form).is_file()), None)


def _read(path: Path, file: File, access: Access) -> bytes:
    """Read one file from what `locate` found."""
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
    """Say what a person can do about a wrong sum."""
    copy = "The known sum is that of one copy of this set, another good copy can differ; "
    return f"{'' if file.upstream_sum else copy}check_hash=False reads it all the same"


def _download(spec: Spec, file: File, folder: Path, access: Access) -> Path:
    """Download the file, or the archive that holds it, into the folder of the set."""
    if file.archive is not None:
        url, target, known = file.archive.url, folder / file.archive.name, file.archive.sha256
    else:
        url = file.url or ""
        suffix = next((s for s in COMPRESSED if url.endswith(s)), "")
        target = folder / (file.name + suffix)
        # The known sum is of the uncompressed bytes; a compressed file is checked after it.
        known = None if suffix else file.sha256
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
            known = known if access.check_hash else None
            part = _retrieve(pooch, url, known, target.name, scratch, access.progress)
        except OSError as error:  # requests' errors are OSErrors
            reason = f"downloading {url} failed: {error}"
            raise _missing(spec, file, folder, reason) from None
        except ValueError as error:  # pooch's word for a wrong sum
            raise DataFileError(f"{url}: {error} {_note(file)}") from None
        _read(Path(part), file, access)
        # Temporary files are for their owner only; a data home may be shared.
        (Path(scratch) / ".mode").touch()
        shutil.copymode(Path(scratch) / ".mode", part)
        os.replace(part, target)
    return target


def _missing(spec: Spec, file: File, folder: Path, reason: str) -> DataFileNotFoundError:
    """Say which file is missing, where it was looked for and where a person can get it."""
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
    pooch: ModuleType, url: str, known: str | None, name: str, folder: str, progress: bool
) -> str:
    """Download to a file of that name in the folder, with a bar that says what is coming."""
    logger = pooch.get_logger()
    disabled = logger.disabled
    # The bar tells enough. The logger is switched off as a whole, since it is none of
    # logging.getLogger's and does not notice a change of its level after its first use.
    logger.disabled = True
    try:
        # total=1 until pooch knows the size: a bar without a total has no truth value, and pooch
        # asks for it.
        with tqdm(desc=name, total=1, unit="B", unit_scale=True, disable=not progress) as bar:
            return pooch.retrieve(
                url,
                known_hash=known,
                fname=name,
                path=folder,
                downloader=pooch.HTTPDownloader(
                    progressbar=bar, chunk_size=_CHUNK, timeout=_TIMEOUT
                ),
            )
    finally:
        logger.disabled = disabled
