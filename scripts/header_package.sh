#!/bin/sh
# header_package.sh VERSION FILE: writes an archive of the headers with their files for CMake and
# pkg-config. Names are sorted, all dates are SOURCE_DATE_EPOCH.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
umask 022
cmake -S . -B "$folder/build" -DLOCKWRIGHT_BUILD_PRELOAD=OFF -DLOCKWRIGHT_BUILD_BENCH=OFF
root=$folder/lockwright-headers-$1
cmake --install "$folder/build" --prefix "$root" --component headers
cp LICENSE "$root/"
chmod -R u=rwX,go=rX "$root"
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --format=ustar --directory "$folder" "$(basename "$root")" | gzip -9n >"$2"
