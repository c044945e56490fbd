#!/bin/sh
# replace-plugin.sh BIN TOOLS FROM TO: makes an opt and a clang in BIN that run those in TOOLS with the plugin
# TO instead of FROM.
set -eu
bin=$1 tools=$2 from=$3 to=$4
for tool in opt clang; do
  {
    echo '#!/bin/sh'
    echo "for word; do shift; set -- \"\$@\" \"\$(echo \"\$word\" | sed 's,$from,$to,')\"; done"
    echo "exec '$tools/$tool' \"\$@\""
  } > "$bin/$tool"
  chmod +x "$bin/$tool"
done
