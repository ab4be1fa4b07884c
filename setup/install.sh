#!/usr/bin/env bash
# The locked dependencies into the virtual environment $1. By uv, which is one of them: 46 s where pip took 230
# (PySpark alone is 450 MB). Compiled, as pip does it: else each of hundreds of processes of the tests would compile
# Django and Celery for itself where Python may not keep what it has compiled (PYTHONDONTWRITEBYTECODE). Where uv
# finds no package index (it does not read pip's configuration) by pip.
set -eu
cd "$(dirname "$0")/.."
bin="$1/bin"
pip() { "$bin/pip" "$@" --quiet --disable-pip-version-check --require-hashes; }

# uv's own lines of the lock, with their hashes.
only_uv="$(mktemp)"
trap 'rm -f "$only_uv"' EXIT
awk '/^[^ ]/ { own = /^uv==/ } own' requirements.lock > "$only_uv"

if ! { pip install -r "$only_uv" \
  && "$bin/uv" pip install --quiet --compile-bytecode --python "$bin/python" \
    --require-hashes -r requirements.lock; }; then
  echo "uv could not install them: pip does, which takes some minutes longer."
  pip install -r requirements.lock
fi
# The checkout itself, for its commands: hadash, hadash-manage, hadash-gateway. (What builds it is in the lock file.)
"$bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
