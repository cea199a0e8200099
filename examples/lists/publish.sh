#!/bin/sh
# Fetches lists and publishes them as a feed, in public/. Arguments are passed on to `feed publish`.
set -eu
cd "$(dirname "$0")"

# A list that can't be fetched completely stays as it was, and one that hasn't changed isn't sent again.
fetch() {
  rm -f "$1.new"
  if [ ! -s "$1" ]; then : > "$1.etag"; fi
  status=$(curl --fail --silent --show-error --location --proto-redir =https --compressed \
    --connect-timeout 30 --speed-time 60 --max-time 900 --write-out '%{http_code}' \
    --etag-compare "$1.etag" --etag-save "$1.etag.new" --output "$1.new" "$2") || status=failed
  if [ "$status" = 200 ] && [ -s "$1.new" ]; then
    # After a redirect, curl may have saved two of them.
    mv "$1.new" "$1" && tail -n 1 "$1.etag.new" > "$1.etag"
  elif [ "$status" != 304 ]; then
    echo "$1 can't be fetched, so the last one stays" >&2
  fi
}

lists=https://blocklistproject.github.io/Lists/alt-version
fetch phishing.txt "$lists/phishing-nl.txt"
fetch malware.txt "$lists/malware-nl.txt"
fetch scam.txt "$lists/scam-nl.txt"

npx bloom-wasm feed publish public --state state --sign feed.key --allow allow.txt --allow-wins "$@" \
  --tag phishing=phishing.txt --tag malware=malware.txt --tag scam=scam.txt || code=$?

# If another machine serves public/, copy it there from here: feed.json last, and also if a list was refused.
exit "${code:-0}"
