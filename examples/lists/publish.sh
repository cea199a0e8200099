#!/bin/sh
# Fetches lists and publishes them as a feed, in public/. Arguments are passed on to `feed publish`.
set -eu
cd "$(dirname "$0")"

# A list that can't be fetched completely stays as it was, and one that hasn't changed isn't sent again.
fetch() {
  rm -f "$1.new"
  if [ ! -s "$1" ]; then : > "$1.etag"; fi
  if curl --fail --silent --show-error --location --proto-redir =https --compressed \
    --connect-timeout 30 --speed-time 60 --max-time 900 \
    --etag-compare "$1.etag" --etag-save "$1.etag.new" --output "$1.new" "$2"; then
    if [ -s "$1.new" ]; then mv "$1.new" "$1" && mv "$1.etag.new" "$1.etag"; fi
  else
    echo "$1 can't be fetched, so the last one stays" >&2
  fi
}

lists=https://blocklistproject.github.io/Lists/alt-version
fetch phishing.txt "$lists/phishing-nl.txt"
fetch malware.txt "$lists/malware-nl.txt"
fetch scam.txt "$lists/scam-nl.txt"

npx bloom-wasm feed publish public --state state --sign feed.key --allow allow.txt --allow-wins "$@" \
  --tag phishing=phishing.txt --tag malware=malware.txt --tag scam=scam.txt || status=$?

# If another machine serves public/, copy it there from here: feed.json last, and also if a list was refused.
exit "${status:-0}"
