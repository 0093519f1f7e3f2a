#!/bin/sh
# proxplane-node: installs the release of Kubernetes that /etc/proxplane/release names, and starts it.
# What it does at the moment is in /run/proxplane/phase, for those who wait.
set -eu

phase() {
	mkdir -p /run/proxplane
	echo "$1" >/run/proxplane/phase
	echo "proxplane: $1"
}

fail() {
	phase "failed: $1"
	exit 1
}

# fetch URL SHA256 FILE
fetch() {
	tries=0
	while ! curl -fsSL --connect-timeout 20 --retry 3 --retry-delay 2 -o "$3" "$1"; do
		tries=$((tries + 1))
		[ "$tries" -lt 20 ] || fail "cannot fetch $1"
		phase "fetching $1 again (attempt $((tries + 1)))"
		sleep 10
	done
	phase "verifying the checksum of $1"
	echo "$2  $3" | sha256sum -c - >/dev/null 2>&1 || fail "the checksum of $1 isn't $2"
}

# shellcheck source=/dev/null
. /etc/proxplane/release

phase "fetching $DISTRIBUTION $VERSION"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch "$URL" "$SHA256" "$work/release"
if [ -f /etc/proxplane/images ]; then
	mkdir -p "/var/lib/rancher/$DISTRIBUTION/agent/images"
	while read -r sum url; do
		phase "fetching the images of $url"
		fetch "$url" "$sum" "$work/images"
		mv "$work/images" "/var/lib/rancher/$DISTRIBUTION/agent/images/$(basename "$url")"
	done </etc/proxplane/images
fi

phase "installing $DISTRIBUTION $VERSION"
case $DISTRIBUTION in
rke2)
	tar -xzf "$work/release" -C /usr/local
	mkdir -p /etc/systemd/system
	cp "/usr/local/lib/systemd/system/$UNIT.service" /etc/systemd/system/
	if [ -f /etc/proxplane/env ]; then
		cp /etc/proxplane/env "/etc/default/$UNIT"
	fi
	;;
k3s)
	install -m 755 "$work/release" /usr/local/bin/k3s
	;;
esac

phase "starting $UNIT"
systemctl daemon-reload
systemctl enable "$UNIT"
systemctl restart --no-block "$UNIT"
phase "started $DISTRIBUTION $VERSION"
