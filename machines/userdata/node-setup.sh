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

# again COMMAND: tries for some minutes, since the network may come late, and somebody else may be installing packages. curl has an option for
# that since 7.71, which is newer than Ubuntu 20.04 and Rocky Linux 8.
again() {
  tries=30
  until "$@"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 5
  done
}

# fetch URL FILE: downloads a file.
fetch() {
  again curl --fail --silent --show-error --location --connect-timeout 20 --output "$2" "$1"
}

# checked URL FILE SUMS: fetches a file, and keeps it only if it has the checksum that its release publishes at SUMS.
checked() {
  fetch "$1" "$2"
  fetch "$3" "$2.sums"
  want=""
  while read -r sum name || [ -n "$sum" ]; do
    name="${name#\*}"
    case "$name" in
      "" | "${1##*/}") want="$sum" ;;
    esac
    sum=""
  done <"$2.sums"
  rm -f "$2.sums"
  if [ -z "$want" ] || ! echo "$want  $2" | sha256sum --check --status; then
    rm -f "$2"
    echo "$1 isn't what its release has: the checksum at $3 is another one" >&2
    return 1
  fi
}

# packages NAME...: installs packages.
packages() {
  case "$os" in
    ubuntu | debian) again apt_install "$@" ;;
    rockylinux | rhel) again dnf install -y "$@" ;;
  esac
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y "$@"
}

# resolver FILE: has Pods ask the name servers that systemd-resolved asks, as kubeadm does. /etc/resolv.conf names systemd-resolved itself, at an
# address that is another one in a Pod: CoreDNS would ask itself.
resolver() {
  if systemctl is-active --quiet systemd-resolved && ! grep -q '^resolvConf:' "$1"; then
    echo 'resolvConf: /run/systemd/resolve/resolv.conf' >>"$1"
  fi
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
      url="https://github.com/containerd/containerd/releases/download/v@CONTAINERD@/containerd-@CONTAINERD@-linux-$arch.tar.gz"
      checked "$url" /tmp/containerd.tar.gz "$url.sha256sum"
      tar -xzf /tmp/containerd.tar.gz -C /usr/local
      rm -f /tmp/containerd.tar.gz
      cat >/etc/systemd/system/containerd.service <<'UNIT'
[Unit]
Description=containerd container runtime
After=network.target local-fs.target

[Service]
ExecStartPre=-/sbin/modprobe overlay
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
UNIT
      ;;
  esac
fi
if ! have runc && [ "$os" != flatcar ]; then
  url="https://github.com/opencontainers/runc/releases/download/v@RUNC@"
  checked "$url/runc.$arch" "$bin/runc" "$url/runc.sha256sum"
  chmod 0755 "$bin/runc"
  ln -sf "$bin/runc" /usr/local/sbin/runc
fi
# A template whose containerd was made ready for Kubernetes, with mirrors of registries perhaps, keeps its configuration.
if [ "$os" != flatcar ] && ! grep -qs 'SystemdCgroup = true' /etc/containerd/config.toml; then
  mkdir -p /etc/containerd
  containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' >/etc/containerd/config.toml
fi

if [ ! -x /opt/cni/bin/loopback ]; then
  url="https://github.com/containernetworking/plugins/releases/download/v@CNI@/cni-plugins-linux-$arch-v@CNI@.tgz"
  checked "$url" /tmp/cni.tgz "$url.sha256"
  tar -xzf /tmp/cni.tgz -C /opt/cni/bin
  rm -f /tmp/cni.tgz
fi

if ! [ -x "$bin/kubelet" ] && have kubelet; then
  ln -s "$(command -v kubelet)" "$bin/kubelet"
fi
if [ "$("$bin/kubelet" --version 2>/dev/null || true)" != "Kubernetes $kubelet" ]; then
  url="https://dl.k8s.io/release/$kubelet/bin/linux/$arch/kubelet"
  checked "$url" "$bin/kubelet.new" "$url.sha256"
  chmod 0755 "$bin/kubelet.new"
  mv -f "$bin/kubelet.new" "$bin/kubelet"
fi

resolver /var/lib/kubelet/config.yaml

if have restorecon; then
  restorecon -R "$bin" /opt/cni /var/lib/kubelet || true
fi
systemctl daemon-reload
systemctl enable --now containerd
systemctl restart containerd
systemctl enable --now kubelet
