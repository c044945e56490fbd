#!/bin/sh
# fake-llvm.sh BIN VERSION KIND: makes an opt and an llc in BIN that say they are of VERSION. TOOLS has
# the real ones. KIND is good; unreadable: opt cannot read the IR; or a pipeline of PLUGIN, which
# opt runs instead of its own.
set -eu
bin=$1 version=$2 kind=$3
mkdir -p "$bin"
for tool in opt llc; do
  {
    echo '#!/bin/sh'
    echo "[ \"\$1\" != --version ] || exec echo 'LLVM version $version'"
    echo "[ \"\$1\" != --help ] || exec '$TOOLS/$tool' --help"
    case $tool,$kind in
    opt,unreadable)
      echo 'echo "error: Unknown attribute kind (99)" >&2; exit 1' ;;
    opt,good | llc,*)
      echo "exec '$TOOLS/$tool' \"\$@\"" ;;
    *)
      echo 'for word; do'
      echo '  shift'
      echo "  case \$word in -passes=*) word='-passes=$kind';; esac"
      echo '  set -- "$@" "$word"'
      echo 'done'
      echo "exec '$TOOLS/opt' -disable-pipeline-verification '-load-pass-plugin=$PLUGIN' \"\$@\"" ;;
    esac
  } > "$bin/$tool.new"
  chmod +x "$bin/$tool.new"
  mv "$bin/$tool.new" "$bin/$tool"
done
