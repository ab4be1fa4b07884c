#!/usr/bin/env bash
# HAProxy for the tests of the PROXY protocol: Debian's package.
set -u
# (Debian puts it where only root's path leads.)
PATH="$PATH:/usr/sbin:/usr/local/sbin"
command -v haproxy >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing HAProxy for the tests of the PROXY protocol ..."
  (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends haproxy) \
    >/tmp/hadash-haproxy.log 2>&1 \
    && command -v haproxy >/dev/null && exit 0
  tail -n 20 /tmp/hadash-haproxy.log
fi
echo "error: The tests of the PROXY protocol need HAProxy (apt-get install haproxy); then run make test again." >&2
exit 1
