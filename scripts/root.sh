# shellcheck shell=sh
# Functions, sourced by scripts: a Debian system in a folder, and commands in it. They need root and
# debootstrap.

# check_root FOLDER: exits if debootstrap does not support the folder.
check_root() {
    case $1 in
    *[[:space:]\']*)
        echo "'$1' has a space or a quote, which debootstrap does not support; name another folder" >&2
        exit 2
        ;;
    esac
}

# make_root SUITE FOLDER PACKAGES: PACKAGES, separated by commas, and what Debian needs.
make_root() {
    # A root that was not finished has another name.
    rm -rf "$2.part"
    debootstrap --variant=minbase --include="ca-certificates,$3" "$1" "$2.part" \
        http://deb.debian.org/debian || return
    # The certificates of this machine, for a mirror that needs them.
    cp -L /etc/ssl/certs/ca-certificates.crt "$2.part/etc/ssl/certs/"
    cp -L /etc/resolv.conf "$2.part/etc/"
    mv "$2.part" "$2"
}

# in_root FOLDER COMMAND...: runs a command in the root. bound, if set: a shell command that mounts more
# under FOLDER. The mounts and the processes end with the command.
in_root() {
    folder=$1
    shift
    # The shell stays process 1, which collects the processes that others leave.
    unshare --mount --pid --fork sh -ec "
        mount -t proc proc '$folder/proc'
        mount --rbind /dev '$folder/dev'
        mount --rbind /sys '$folder/sys'
        ${bound:-}
        status=0
        chroot '$folder' \"\$@\" || status=\$?
        exit \$status" sh \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive PIP_CERT=/etc/ssl/certs/ca-certificates.crt "$@"
}
