#!/usr/bin/env bash
# Chromium for the browser tests: Debian's package, because browsers cannot be downloaded everywhere.
set -u
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium for the browser tests ..."
  (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q chromium) >/tmp/hadash-chromium.log 2>&1 && exit 0
  tail -n 20 /tmp/hadash-chromium.log
fi
echo "error: The browser tests need Chromium. Install it (apt-get install chromium) and run make test again." >&2
exit 1
