# Roots of Debian releases, for ./dev and fresh_root.sh, which source this file.
# shellcheck shell=sh

debian_suites="bookworm trixie forky testing sid"

refuse() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# check_root SUITE FOLDER: ends the process with status 2 if no root can be made there.
check_root() {
    case " $debian_suites " in
    *" $1 "*) ;;
    *) refuse "no suite is named '$1'; there are $debian_suites" ;;
    esac
    case $2 in
    *[[:space:]\'\"]*)
        refuse "'$2' has a space or a quote, which debootstrap does not support; name another folder"
        ;;
    esac
    [ "$(id -u)" -eq 0 ] || refuse "a root of Debian is made and entered by root only; use sudo"
}

# make_root SUITE FOLDER PACKAGES: PACKAGES are separated by commas. The folder appears once it is whole.
make_root() {
    command -v debootstrap >/dev/null || refuse "there is no debootstrap; run: apt-get install debootstrap"
    script=
    # Older versions of debootstrap do not know the names of later suites.
    [ -e "/usr/share/debootstrap/scripts/$1" ] || script=sid
    rm -rf --one-file-system "$2.part"
    # debootstrap leaves its mounts behind if it is stopped: here they end with it.
    unshare --mount debootstrap --variant=minbase --include="$3" "$1" "$2.part" \
        "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" ${script:+"$script"}
    # Packages start no services.
    printf '#!/bin/sh\nexit 101\n' >"$2.part/usr/sbin/policy-rc.d"
    chmod +x "$2.part/usr/sbin/policy-rc.d"
    # Proxies, and whether old lists of a mirror are accepted.
    apt-config dump 2>/dev/null |
        grep -E '^Acquire::([a-z]+::Proxy|Check-)' >"$2.part/etc/apt/apt.conf.d/90outside" || :
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$2.part/etc/"
    mv "$2.part" "$2"
}

# enter_root FOLDER [SOURCE TARGET]... -- COMMAND...: becomes a command in a root, with each SOURCE mounted
# at the root's TARGET. Variables stay if they belong to the tests, pip or a proxy.
enter_root() {
    # The network, and the certificates for a mirror that needs them: not at their usual place, which
    # packages of the root write.
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
    cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/outside.crt"
    # shellcheck disable=SC2013 # names have no blank
    for name in $(awk 'BEGIN { for (name in ENVIRON) print name }'); do
        case $name in
        LOCKWRIGHT_* | CI | CMAKE_BUILD_PARALLEL_LEVEL | CC | CXX | TERM | MANPAGER | PIP_* | GIT_CONFIG_* | *_proxy) ;;
        *) unset "$name" ;;
        esac
    done
    export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
    export PIP_CERT=/etc/ssl/outside.crt
    # The first child is process 1 of the namespace, whose processes end with it, and it ends with its
    # parent. An interrupt reaches the command, whose end the parent awaits.
    # shellcheck disable=SC2016 # for the shell within
    exec unshare --mount --pid sh -c 'trap : INT; setpriv --pdeathsig KILL "$@"; status=$?; exit "$status"' \
        sh sh -ec '
            root=$1
            shift
            mount -t proc proc "$root/proc"
            mount --rbind /dev "$root/dev"
            mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
            mount --rbind /sys "$root/sys"
            mount -t tmpfs -o mode=755 tmpfs "$root/run"
            while [ "$1" != -- ]; do
                mkdir -p "$root$2"
                mount --bind "$1" "$root$2"
                shift 2
            done
            shift
            # Not exec: process 1 collects ended children.
            status=0
            chroot "$root" "$@" || status=$?
            exit "$status"' sh "$@"
}
