"""An object store of the test's own: moto's server, which speaks S3 over HTTP on loopback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs


@contextmanager
def object_store(bucket: str = "lake") -> Iterator[str]:
    """The address of a lake in an empty bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        # For both pyarrow and Spark; nobody asks Amazon who this machine is.
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        server.start()
        try:
            host, port = server.get_host_and_port()
            reached = {"endpoint_override": f"{host}:{port}", "scheme": "http", "region": "us-east-1"}
            fs.S3FileSystem(**reached, allow_bucket_creation=True).create_dir(bucket)
            options = "&".join(f"{name}={value}" for name, value in reached.items())
            yield f"s3a://{bucket}/hadash?{options}"
        finally:
            server.stop()
