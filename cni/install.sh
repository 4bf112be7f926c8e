#!/bin/sh
# Puts the CNI plugin on the host: install.sh BIN-FOLDER CONF-FOLDER
# The plugin is replaced in one step, because a runtime may start it at any
# moment. A configuration that is there already stays: somebody may have chosen
# another chain.
set -eu
if [ $# -ne 2 ]; then
  echo "usage: install.sh BIN-FOLDER CONF-FOLDER, like /opt/cni/bin /etc/cni/net.d" >&2
  exit 2
fi
here=$(dirname "$0")
for folder in "$1" "$2"; do
  if [ ! -d "$folder" ]; then
    echo "install.sh: there is no folder $folder" >&2
    exit 1
  fi
  # Root without DAC_OVERRIDE is bound by the mode of a folder like everybody else.
  if [ ! -w "$folder" ]; then
    owner=$(stat -c %u "$folder")
    echo "install.sh: user $(id -u) may not write to $folder, which belongs to user $owner:" \
      "give the container the capability DAC_OVERRIDE, or the folder to root" >&2
    exit 1
  fi
done
cp "$here/cadastre" "$1/.cadastre.$$"
chmod 0755 "$1/.cadastre.$$"
mv -f "$1/.cadastre.$$" "$1/cadastre"
echo "installed $1/cadastre"
if [ -e "$2/10-cadastre.conflist" ]; then
  echo "kept $2/10-cadastre.conflist"
else
  cp "$here/10-cadastre.conflist" "$2/.cadastre.$$"
  mv -f "$2/.cadastre.$$" "$2/10-cadastre.conflist"
  echo "installed $2/10-cadastre.conflist"
fi
