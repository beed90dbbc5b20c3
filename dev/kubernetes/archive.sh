#!/usr/bin/env bash
# archive.sh NAME:TAG LAYER.tar…: writes a docker archive of these layers to standard output, without a
# container engine. USER_ID, WORKDIR, and in JSON ENTRYPOINT and ENVIRONMENT, are what a Dockerfile would set.
set -euo pipefail
name=$1; shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
diffs="" layers=""
for layer in "$@"; do
  digest=$(sha256sum "$layer" | cut -d' ' -f1)
  ln "$layer" "$dir/$digest.tar" 2>/dev/null || cp "$layer" "$dir/$digest.tar"
  diffs+="${diffs:+,}\"sha256:$digest\"" layers+="${layers:+,}\"$digest.tar\""
done
cat > "$dir/config.json" <<J
{"architecture": "$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [$diffs]},
 "config": {"Entrypoint": $ENTRYPOINT, "User": "${USER_ID:-65532:65532}", "WorkingDir": "${WORKDIR:-/}", "Env": ${ENVIRONMENT:-[]}}}
J
echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$name\"], \"Layers\": [$layers]}]" > "$dir/manifest.json"
tar -cf - -C "$dir" config.json manifest.json $(cd "$dir" && ls | grep '\.tar$')
