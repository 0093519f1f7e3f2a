#!/bin/sh
# Installs what a node needs and the template lacks, and starts it. It can be run again.
set -eu

os="@OS@"
kubelet="@KUBELET@"
auto_update="@AUTO_UPDATE@"
bin=/opt/bin
PATH="$PATH:$bin"
export PATH

case "$(uname -m)" in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) echo "there are no binaries for $(uname -m)" >&2; exit 1 ;;
esac

have() { command -v "$1" >/dev/null 2>&1; }

# fetch URL FILE: tries for some minutes, since the network may come late.
fetch() {
  curl --fail --silent --show-error --location --retry 30 --retry-delay 5 --retry-all-errors --output "$2" "$1"
}

packages() {
  case "$os" in
    ubuntu | debian)
      DEBIAN_FRONTEND=noninteractive apt-get update -q
      DEBIAN_FRONTEND=noninteractive apt-get install -q -y "$@" ;;
    rockylinux | rhel) dnf install -y "$@" ;;
  esac
}

mkdir -p "$bin" /opt/cni/bin /etc/cni/net.d /etc/kubernetes/manifests /var/lib/kubelet

swapoff -a || true
modprobe overlay || true
modprobe br_netfilter || true
sysctl --system >/dev/null || true

if [ "$auto_update" = no ]; then
  for unit in unattended-upgrades.service apt-daily.timer apt-daily-upgrade.timer dnf-automatic.timer; do
    systemctl disable --now "$unit" >/dev/null 2>&1 || true
  done
fi

missing=""
for one in curl conntrack iptables; do
  have "$one" || missing="$missing $one"
done
if [ -n "$missing" ] && [ "$os" != flatcar ]; then
  # dnf names the package of conntrack otherwise.
  case "$os" in
    rockylinux | rhel) missing=$(echo "$missing" | sed 's/conntrack/conntrack-tools/') ;;
  esac
  # shellcheck disable=SC2086 # several words
  packages $missing
fi

if ! have containerd; then
  case "$os" in
    ubuntu | debian) packages containerd ;;
    *)
      fetch "https://github.com/containerd/containerd/releases/download/v@CONTAINERD@/containerd-@CONTAINERD@-linux-$arch.tar.gz" /tmp/containerd.tar.gz
      tar -xzf /tmp/containerd.tar.gz -C /usr/local
      rm -f /tmp/containerd.tar.gz
      fetch "https://raw.githubusercontent.com/containerd/containerd/v@CONTAINERD@/containerd.service" /etc/systemd/system/containerd.service ;;
  esac
fi
if ! have runc && [ "$os" != flatcar ]; then
  fetch "https://github.com/opencontainers/runc/releases/download/v@RUNC@/runc.$arch" "$bin/runc"
  chmod 0755 "$bin/runc"
  ln -sf "$bin/runc" /usr/local/sbin/runc
fi
if [ "$os" != flatcar ]; then
  mkdir -p /etc/containerd
  containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' >/etc/containerd/config.toml
fi

if [ ! -x /opt/cni/bin/loopback ]; then
  fetch "https://github.com/containernetworking/plugins/releases/download/v@CNI@/cni-plugins-linux-$arch-v@CNI@.tgz" /tmp/cni.tgz
  tar -xzf /tmp/cni.tgz -C /opt/cni/bin
  rm -f /tmp/cni.tgz
fi

if ! [ -x "$bin/kubelet" ] && have kubelet; then
  ln -s "$(command -v kubelet)" "$bin/kubelet"
fi
if [ "$("$bin/kubelet" --version 2>/dev/null || true)" != "Kubernetes $kubelet" ]; then
  base="https://dl.k8s.io/release/$kubelet/bin/linux/$arch/kubelet"
  fetch "$base" "$bin/kubelet.new"
  fetch "$base.sha256" "$bin/kubelet.sha256"
  echo "$(cat "$bin/kubelet.sha256")  $bin/kubelet.new" | sha256sum --check --quiet
  chmod 0755 "$bin/kubelet.new"
  mv -f "$bin/kubelet.new" "$bin/kubelet"
  rm -f "$bin/kubelet.sha256"
fi

if have restorecon; then
  restorecon -R "$bin" /opt/cni /var/lib/kubelet || true
fi
systemctl daemon-reload
systemctl enable --now containerd
systemctl restart containerd
systemctl enable --now kubelet
