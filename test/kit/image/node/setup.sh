#!/bin/sh
# Makes of the tests' Debian one that can be a node of Kubernetes. Runs on the host, with
# the root of the guest as its argument.
set -eu
root=$1

# The authority of the tests is one like any other.
cat "$root/usr/local/share/ca-certificates/tests.crt" >>"$root/etc/ssl/certs/ca-certificates.crt"
# Who writes /etc/hosts anew, as cloud-init does when it is told to, has these names in it, too.
cat "$root/etc/hosts.tests" >>"$root/etc/hosts"
cat "$root/etc/hosts.tests" >>"$root/etc/cloud/templates/hosts.debian.tmpl"
# First-boot data start it.
systemctl --root="$root" --quiet disable containerd.service
