#!/bin/sh
# Makes of a fresh Debian what the tests boot. Runs on the host, with the root of
# the guest as its argument.
set -eu
root=$1

# Emulated machines are slow: what none of the tests look at isn't started.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
	e2scrub_reap.service getty@tty1.service serial-getty@ttyS0.service console-setup.service keyboard-setup.service \
	systemd-binfmt.service systemd-journal-flush.service systemd-pstore.service systemd-timesyncd.service \
	systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-networkd-wait-online.service \
	systemd-modules-load.service systemd-firstboot.service kmod-static-nodes.service modprobe@.service \
	dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
	sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
chmod 755 "$root"/usr/local/sbin/*
systemctl --root="$root" --quiet enable systemd-networkd.service

# What every machine has of its own is made at its first boot.
: >"$root/etc/machine-id"
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/hostname" "$root/etc/resolv.conf"
: >"$root/etc/fstab"
rm -f "$root"/etc/apt/apt.conf.d/*mmdebstrap
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
