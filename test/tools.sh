#!/bin/sh
# Installs the programs that tests use beside Go, where that can be done: as
# root on Debian and its like. Elsewhere it says what is missing; tests that
# need it are skipped then, unless CI=true.
set -eu

# What each is for: QEMU and its UEFI run guests; the rest builds their images,
# and looks at what we make with other people's programs.
packages="qemu-system-x86 qemu-utils ovmf
	dpkg xz-utils zstd mmdebstrap e2fsprogs fdisk gcc libc6-dev libblkid-dev
	genisoimage cloud-init shellcheck openssh-server perl"

missing=""
for p in $packages; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q ' installed$' || missing="$missing $p"
done
if [ -z "$missing" ]; then
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "some tests will be skipped; they need:$missing"
	exit 0
fi
echo "installing$missing ..."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of words
if ! { apt-get update -q && apt-get install -q -y --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -n 5 "$log"
	echo "some tests will be skipped; they need:$missing"
fi
