#!/bin/sh
# Installs the beeos program: finds the file for this machine, compares its sum, and says
# what it did.
#
#   curl -fsSL https://github.com/beeos/beeos/releases/latest/download/install.sh | sh
#
#   INSTALL_DIR      where the program goes; else /usr/local/bin for root, ~/.local/bin for others
#   INSTALL_VERSION  which version; else the newest
#   INSTALL_FROM     a folder or URL with the files of one version, instead of GitHub
set -eu

say() { printf 'beeos: %s\n' "$*"; }
fail() {
  printf 'beeos: %s\n' "$*" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

find_target() {
  case "$(uname -s)" in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "there is no file for $(uname -s); on Windows take the zip from https://github.com/beeos/beeos/releases" ;;
  esac
  case "$(uname -m)" in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no file for $(uname -m); build it with: go install github.com/beeos/beeos/cmd/beeos@latest" ;;
  esac
}

# get NAME puts a file of the version into the temporary folder.
get() {
  case "$from" in
  https://* | http://*)
    if has curl; then
      curl -fsSL --retry 3 -o "$temp/$1" "$from/$1" || fail "cannot download $from/$1; check the version and the network"
    elif has wget; then
      wget -q -O "$temp/$1" "$from/$1" || fail "cannot download $from/$1; check the version and the network"
    else
      fail "neither curl nor wget is here; install one of them"
    fi
    ;;
  *) cp "$from/$1" "$temp/$1" || fail "$from has no $1" ;;
  esac
}

sum_of() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  else
    fail "neither sha256sum nor shasum is here to check the file with; install coreutils"
  fi | cut -d ' ' -f 1
}

find_target
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
releases=https://github.com/beeos/beeos/releases
from=${INSTALL_FROM:-}
if [ -z "$from" ]; then
  if [ -n "${INSTALL_VERSION:-}" ]; then
    from=$releases/download/v$INSTALL_VERSION
  else
    from=$releases/latest/download
  fi
fi

get checksums.txt
file=$(sed -n "s/^[0-9a-f]\{64\}  \(beeos_[^_]*_${os}_$arch\.tar\.gz\)$/\1/p" "$temp/checksums.txt")
[ -n "$file" ] || fail "$from has no file for $os/$arch"
[ "$(printf '%s\n' "$file" | wc -l)" -eq 1 ] || fail "$from has several files for $os/$arch; leave one"
want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $file$/\1/p" "$temp/checksums.txt")
get "$file"
got=$(sum_of "$temp/$file")
[ "$got" = "$want" ] || fail "$file is not what checksums.txt promises (SHA-256 $got, not $want); nothing was installed"

dir=${INSTALL_DIR:-}
if [ -z "$dir" ]; then
  if [ "$(id -u)" -eq 0 ]; then
    dir=/usr/local/bin
  else
    dir=${HOME:?set HOME or INSTALL_DIR}/.local/bin
  fi
fi
mkdir -p "$dir" || fail "cannot make $dir; set INSTALL_DIR to another folder"
tar -xzf "$temp/$file" -C "$temp" beeos
# Beside the old one and then in its place, so that one which runs is not disturbed.
cp "$temp/beeos" "$dir/.beeos.new" || fail "cannot write to $dir; run this as root, or set INSTALL_DIR"
chmod 755 "$dir/.beeos.new"
mv "$dir/.beeos.new" "$dir/beeos"

say "SHA-256 of $file is as promised: $got"
say "installed $dir/beeos: $("$dir/beeos" version)"
case ":${PATH:-}:" in
*":$dir:"*) say "begin with: beeos dev" ;;
*) say "$dir is not in your PATH; begin with: $dir/beeos dev" ;;
esac
