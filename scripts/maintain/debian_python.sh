#!/bin/sh
# Unpack Debian's Python into a folder, with pip: a version or a processor that this machine has not. Nothing is installed,
# so that any user may do this where apt-get is. Prints the command to start it.
#
#   scripts/maintain/debian_python.sh FOLDER VERSION ARCHITECTURE SUITE      such as /tmp/arm 3.11 arm64 bookworm
#
# Another processor's needs qemu (the package qemu-user). PYTHON: an interpreter with pip; python3 by default.
set -eu

mkdir -p "$1/apt/lists/partial" "$1/apt/archives/partial" "$1/root"
folder=$(cd "$1" && pwd) version=$2 architecture=$3 suite=$4
root=$folder/root

cat >"$folder/apt/conf" <<END
Dir::State::Lists "$folder/apt/lists";
Dir::State::status "/dev/null";
Dir::State::extended_states "$folder/apt/extended";
Dir::Cache "$folder/apt";
Dir::Etc::SourceList "$folder/apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
APT::Architecture "$architecture";
APT::Architectures "$architecture";
END
if [ "$(id -u)" = 0 ]; then echo 'APT::Sandbox::User "root";' >>"$folder/apt/conf"; fi
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$')
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$folder/apt/sources.list"
(
  export APT_CONFIG="$folder/apt/conf"
  apt-get -qq update
  apt-get -qq install --download-only --no-install-recommends "python$version" libstdc++6
) >&2
for package in "$folder"/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
for name in bin lib lib64; do
  if [ -d "$root/usr/$name" ] && [ ! -e "$root/$name" ]; then ln -s "usr/$name" "$root/$name"; fi
done
"${PYTHON:-python3}" -m pip install -q --target "$folder/pip" pip >&2

# Its own loader and C library; as what it starts as sys.executable, too.
if [ "$architecture" = "$(dpkg --print-architecture)" ]; then
  loader=$(ls "$root"/lib64/ld-linux* "$root"/lib/ld-linux* 2>/dev/null | head -n 1)
  start="$loader --library-path $(ls -d "$root"/usr/lib/*-linux-gnu) --argv0"
else
  case "$architecture" in arm64) processor=aarch64 ;; *) processor=$architecture ;; esac
  start="$(command -v "qemu-$processor") -L $root -0"
fi
cat >"$folder/python" <<END
#!/bin/sh
export PYTHONHOME="$root/usr" PYTHONPATH="$folder/pip\${PYTHONPATH:+:\$PYTHONPATH}"
exec $start "$folder/python" "$root/usr/bin/python$version" "\$@"
END
chmod +x "$folder/python"
echo "$folder/python"
