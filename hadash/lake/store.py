"""The storage of the lake: lists, reads, and atomically writes files.

The address is a path, or a URL that pyarrow supports: ``s3a://bucket/lake``, ``hdfs://namenode:8020/lake``. An
object store other than Amazon's has its own address after a question mark:
``s3a://bucket/lake?endpoint_override=minio:9000&scheme=http&region=us-east-1``; for HDFS see
:mod:`hadash.lake.hdfs`. Names in the lake are relative, with slashes:
``access/date=2026-11-21/hour=17/gateway-1-1763744400000.parquet``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from hadash.sentences import Explained, say


class LakeError(Explained):
    """The lake cannot be used; its sentence has the address and the reason."""


class Store:
    """One lake.

    :param address: a folder, or a URL. Spark's ``s3a`` and ``s3n`` mean ``s3``.
    :raises LakeError: the address is not valid, or cannot be used.
    """

    def __init__(self, address: str) -> None:
        #: The given address with its parameters (after the question mark), from which another process can make
        #: a store.
        self.url = address
        self.address = address.partition("?")[0].rstrip("/") or "/"
        try:
            if "://" in address:
                scheme, rest = address.split("://", 1)
                if scheme == "hdfs":
                    # Imported only here: executors need fsspec and requests only for a lake in HDFS.
                    from hadash.lake.hdfs import hdfs

                    self.filesystem, self._root = hdfs(self.address, self.options)
                else:
                    url = f"s3://{rest}" if scheme in ("s3a", "s3n") else address
                    self.filesystem, self._root = fs.FileSystem.from_uri(url)
            else:
                self.filesystem, self._root = fs.LocalFileSystem(), str(Path(self.address).absolute())
        except (pa.ArrowException, OSError, ValueError) as error:
            raise LakeError(
                say(
                    "The lake %(address)s cannot be reached (%(error)s). A folder, s3a://… and hdfs://… can.",
                    address=repr(address),
                    error=str(error),
                )
            ) from error
        #: Whether files appear only when they are complete: an object store does that (and cannot rename); in
        #: others a file is visible while it grows.
        self._shows_whole = isinstance(self.filesystem, fs.S3FileSystem)

    def for_spark(self, name: str = "") -> str:
        """Return the address of a file or folder for Spark."""
        root = self.address if "://" in self.address else f"file://{self._root}"
        return f"{root}/{name}" if name else root

    @property
    def options(self) -> dict[str, str]:
        """The parameters of the address: ``endpoint_override``, ``scheme``, ``region`` for an object store;
        ``webhdfs`` and ``kerberos`` for HDFS.
        """
        return dict(parse_qsl(self.url.partition("?")[2]))

    def files(self, folder: str, *, deep: bool = False) -> dict[str, int]:
        """Return the files of a folder with their sizes in bytes, by name, in order. Files that are being
        written are left out. A folder that does not exist has none.

        :param deep: include the files of its subfolders.
        """
        found = {
            self._relative(info.path): info.size
            for info in self._infos(folder, deep)
            if info.type == fs.FileType.File and not _hidden(self._relative(info.path))
        }
        return dict(sorted(found.items()))

    def folders(self, folder: str) -> list[str]:
        """Return the names of the subfolders of a folder (their last parts), in order."""
        return sorted(
            info.base_name for info in self._infos(folder, deep=False) if info.type == fs.FileType.Directory
        )

    def exists(self, name: str) -> bool:
        return bool(self.filesystem.get_file_info(self._path(name)).type != fs.FileType.NotFound)

    def open(self, name: str) -> pa.NativeFile:
        """Open a file for reading. :raises FileNotFoundError: it does not exist."""
        return self.filesystem.open_input_file(self._path(name))

    def is_readable(self, name: str) -> bool:
        """Return whether all bytes of a file can be read: if so, content that cannot be decoded is the file's
        fault, otherwise perhaps the lake's.
        """
        try:
            with self.open(name) as source:
                while source.read(1 << 20):
                    pass
        except OSError:
            return False
        return True

    def read_json(self, name: str) -> Any:
        """Return the value that :meth:`write_json` wrote; ``None`` when the file does not exist."""
        try:
            with self.open(name) as source:
                return json.loads(source.readall())
        except FileNotFoundError:
            return None

    def write_json(self, name: str, value: Any) -> None:
        """Write a value as JSON, atomically, replacing an existing file."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        with self.writing(name) as sink:
            # (A lone surrogate, which UTF-8 cannot encode, becomes JSON's escape: \\ud800.)
            sink.write(text.encode(errors="backslashreplace"))

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a table as one Parquet file, atomically, replacing an existing file."""
        with self.writing(name) as sink:
            pq.write_table(table, sink, compression="zstd")

    def writing(self, name: str) -> Whole:
        """Open a file for writing. It appears when the block ends, and not if the block fails."""
        return Whole(self, name)

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""
        try:
            self.filesystem.delete_file(self._path(name))
        except FileNotFoundError:
            pass

    def delete_folder(self, name: str) -> None:
        """Delete a folder with its content, if it exists."""
        try:
            self.filesystem.delete_dir(self._path(name))
        except FileNotFoundError:
            pass

    def move(self, name: str, to: str) -> None:
        """Move a file within the lake."""
        self._make_folder(to)
        self.filesystem.move(self._path(name), self._path(to))

    def _infos(self, folder: str, deep: bool) -> Iterator[fs.FileInfo]:
        selector = fs.FileSelector(self._path(folder), recursive=deep, allow_not_found=True)
        yield from self.filesystem.get_file_info(selector)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _relative(self, path: str) -> str:
        return path.removeprefix(self._root).lstrip("/")

    def _make_folder(self, name: str) -> None:
        if not self._shows_whole:
            self.filesystem.create_dir(str(PurePosixPath(self._path(name)).parent), recursive=True)


class Whole:
    """The context manager that writes one file: see :meth:`Store.writing`."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        folder, _, last = name.rpartition("/")
        # Spark and other readers ignore names that begin with a dot.
        hidden = f"{folder}/.{last}" if folder else f".{last}"
        self._part = hidden

    def __enter__(self) -> pa.NativeFile:
        self._store._make_folder(self._name)
        if self._store._shows_whole:
            # pyarrow completes an upload even when its writer has failed, so it begins when all data are there.
            self._sink = pa.BufferOutputStream()
        else:
            self._sink = self._store.filesystem.open_output_stream(self._store._path(self._part))
        return self._sink

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if self._store._shows_whole:
            if kind is None:
                with self._store.filesystem.open_output_stream(self._store._path(self._name)) as upload:
                    upload.write(self._sink.getvalue())
        elif kind is None:
            self._sink.close()
            self._store.filesystem.move(self._store._path(self._part), self._store._path(self._name))
        else:
            self._sink.close()
            self._store.delete(self._part)


def _hidden(name: str) -> bool:
    """Return whether a name has a part that readers ignore.

    >>> _hidden("access/.part.parquet"), _hidden("tables/facts/_SUCCESS"), _hidden("access/a.parquet")
    (True, True, False)
    """
    return any(part.startswith((".", "_")) for part in name.split("/"))
