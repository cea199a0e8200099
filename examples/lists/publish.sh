#!/bin/sh
# Fetches lists and publishes them as the feed of feed.toml. Arguments are passed on to `feed publish`.
set -u
cd "$(dirname "$0")" || exit

# fetch FILE URL [MIRROR...]: a list, from the first of its addresses that has it. If none has all of it, the list stays
# as it was. If it hasn't changed, it isn't sent again.
fetch() {
  file=$1
  shift
  for url in "$@"; do
    # The ETag is that of the first address, and of nothing without the list.
    if [ "$url" != "$1" ] || [ ! -s "$file" ]; then : > "$file.etag"; fi
    : > "$file.etag.new"
    status=$(curl --fail --silent --show-error --location --proto-redir =https --globoff --compressed \
      --connect-timeout 30 --speed-limit 1000 --speed-time 60 --max-time 900 --retry 3 --retry-max-time 60 \
      --write-out '%{http_code}' --etag-compare "$file.etag" --etag-save "$file.etag.new" \
      --output "$file.new" --url "$url") || status=failed
    case $status in 200 | 204) [ -s "$file.new" ] || status=empty ;; esac
    if [ "$status" = 200 ] && mv "$file.new" "$file"; then
      status=new
      # After a redirect, curl may have saved two of them.
      if [ "$url" = "$1" ]; then tail -n 1 "$file.etag.new" > "$file.etag"; fi
    fi
    rm -f "$file.new" "$file.etag.new"
    # Of all else, curl has said why.
    case $status in new | 304) return ;; empty) why=": it is empty" ;; *) why= ;; esac
    echo "$file can't be fetched from $url$why" >&2
  done
  return 1
}

lists=https://blocklistproject.github.io/Lists/alt-version
mirror=https://raw.githubusercontent.com/blocklistproject/Lists/HEAD/alt-version
fetch phishing.txt "$lists/phishing-nl.txt" "$mirror/phishing-nl.txt"
fetch malware.txt "$lists/malware-nl.txt" "$mirror/malware-nl.txt"
fetch scam.txt "$lists/scam-nl.txt" "$mirror/scam-nl.txt"

npx bloom-wasm feed publish "$@"
