#!/usr/bin/env bash
# Chromium for the browser tests: Debian's package, because browsers cannot be downloaded everywhere. And a font with
# Chinese characters: without one the pictures that the tests keep have boxes instead.
set -u
missing=1
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && missing=0
done
if command -v fc-list >/dev/null && [ -n "$(fc-list :lang=zh)" ]; then font=""; else font="fonts-noto-cjk"; fi
[ "$missing" = 0 ] && [ -z "$font" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing what the browser tests need ..."
  packages="$font"; [ "$missing" = 1 ] && packages="chromium $font"
  (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q $packages) >/tmp/hadash-chromium.log 2>&1 \
    && exit 0
  tail -n 20 /tmp/hadash-chromium.log
fi
if [ "$missing" = 0 ]; then
  echo "No font with Chinese characters: pictures will have boxes (apt-get install fonts-noto-cjk)." >&2
  exit 0
fi
echo "error: The browser tests need Chromium. Install it (apt-get install chromium) and run make test again." >&2
exit 1
