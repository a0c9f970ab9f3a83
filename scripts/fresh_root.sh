#!/bin/sh
# fresh_root.sh RELEASE SUITE FOLDER: installs the artefacts of ./dev release into a fresh Debian without
# compiler, uses them, removes them, and fails if a file remains. SUITE: bookworm or trixie. FOLDER: for
# the new root, about 2 GB. Needs root and debootstrap.
set -eu
release=$(cd "$1" && pwd)
suite=$2
root=$3

if [ "${LOCKWRIGHT_FRESH_ROOT:-}" != inside ]; then
    # shellcheck disable=SC1091 # checked separately
    . "$(dirname "$0")/debian_root.sh"
    [ ! -e "$root" ] || refuse "$root exists"
    check_root "$suite" "$root"
    make_root "$suite" "$root" python3-venv,xz-utils,man-db,bash-completion,zsh,fish,ca-certificates
    mkdir "$root/release"
    cp "$release"/*.whl "$release"/*.deb "$root/release/"
    cp "$0" "$root/release/test"
    cp "$(dirname "$0")/complete_in_shell.py" "$root/release/"
    export LOCKWRIGHT_FRESH_ROOT=inside MANPAGER=cat
    enter_root "$root" -- sh /release/test /release "$suite" /
fi

announce() { printf '==> %s\n' "$*"; }

# completes SHELL [SCRIPT]: a lock and a program of the catalogue are completed.
completes() {
    for line in 'lockwright run --lock mcs-st mcs-stp' 'lockwright study catalogue pig pigz'; do
        python3 "$release/complete_in_shell.py" "$1" "${line% *}" "${line##* }" "${2:-}" >/tmp/shown ||
            { cat /tmp/shown >&2; exit 1; }
        echo "$1: ${line% *}<Tab> has ${line##* }"
    done
    rm /tmp/shown
}

# use [SHARE]: uses the command in PATH. SHARE: where its completion scripts are, if no shell looks there.
use() {
    cd /tmp
    seq 300000 >numbers
    announce "run"
    lockwright run --stats -- xz -T2 -0 -k -f numbers 2>&1 | head -n 4
    announce "profile, advise"
    lockwright profile -o profile.json -- xz -T2 -0 -k -f numbers
    lockwright advise profile.json | head -n 3
    announce "tune"
    lockwright tune --budget 10s -- xz -T2 -0 -k -f numbers | tail -n 3
    announce "man page"
    man lockwright-run | sed -n '1,5p'
    announce "completion"
    completes bash ${1:+"$1/bash-completion/completions/lockwright"}
    completes zsh ${1:+"$1/zsh/site-functions/_lockwright"}
    completes fish ${1:+"$1/fish/vendor_completions.d/lockwright.fish"}
    rm -rf numbers* profile.json "$HOME/.local" "$HOME/.cache" "$HOME/.config"
}

if command -v cc gcc g++ clang; then echo "there is a compiler" >&2; exit 1; fi
# /var/cache/man has what man formatted; it is man's own cache, which its daily job empties.
files() {
    find / -xdev -path /proc -prune -o -path /dev -prune -o -path /var/cache/man -prune -o \
        -iname '*lockwright*' -print | sort
}

announce "Debian packages"
apt-get -qq update
apt-get -qq install -y --no-install-recommends "$release"/*.deb >/dev/null
PATH=/usr/bin:$PATH use
LD_PRELOAD=liblockwright.so cat /proc/self/maps | grep -m 1 -o 'liblockwright.so'
apt-get -qq purge -y '*lockwright*' >/dev/null

announce "Wheel"
python3 -m venv "/opt/a place"
"/opt/a place/bin/pip" install --quiet "$release"/*.whl
(PATH="/opt/a place/bin:$PATH" && use "/opt/a place/share")
"/opt/a place/bin/pip" uninstall --quiet --yes lockwright lockwright-lab

left=$(files | grep -v '^/release/' || :)
[ -z "$left" ] || { printf 'left behind:\n%s\n' "$left" >&2; exit 1; }
announce "Nothing is left behind"
