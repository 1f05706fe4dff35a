#!/bin/sh
# Downloads a release of bunting for this machine, checks it, and unpacks it into a folder.
#
# usage: install.sh VERSION FOLDER
set -eu
version=${1#v} folder=$2
case $(uname -s) in Linux) os=linux ;; Darwin) os=darwin ;; *) echo "there is no archive of bunting for $(uname -s)" >&2 && exit 1 ;; esac
case $(uname -m) in x86_64 | amd64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) echo "there is no archive of bunting for $(uname -m)" >&2 && exit 1 ;; esac
name=bunting_${version}_${os}_$arch.tar.gz
from=https://github.com/bunting-flags/bunting/releases/download/v$version
mkdir -p "$folder"
cd "$folder"
for file in "$name" checksums.txt; do
  curl --fail --silent --show-error --location --retry 3 --max-time 300 --output "$file" "$from/$file"
done
grep " $name\$" checksums.txt > checksum || { echo "checksums.txt does not have $name" >&2 && exit 1; }
if command -v sha256sum > /dev/null; then sha256sum -c checksum >&2; else shasum -a 256 -c checksum >&2; fi
tar -xzf "$name"
rm "$name" checksums.txt checksum
