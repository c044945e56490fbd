#!/bin/sh
# wrong-llc.sh OUT LLC PASS FUNCTION [KIND]: makes an llc (or opt) whose PASS makes FUNCTION larger. KIND is
# the version that it prints; or "unnumbered": it rejects -opt-bisect-limit and -opt-bisect; or "dies": it
# crashes in PASS on FUNCTION.
set -eu
out=$1 llc=$2 pass=$3 function=$4 kind=${5-}
{
  echo '#!/bin/sh'
  echo "llc='$llc' pass='$pass' function='$function' kind='$kind'"
  cat <<'EOF'
code= previous=
for word; do
  [ "$previous" != -o ] || code=$word
  previous=$word
  case $kind,$word in
  ,* | unnumbered,--version | dies,--version) ;;
  *,--version) echo "LLVM version $kind"; exit ;;
  unnumbered,-opt-bisect*) echo "unknown option '$word'" >&2; exit 1 ;;
  esac
done
[ "$code" ] || exec "$llc" "$@"
"$llc" "$@" 2> "$code.log" || exit
skipped="NOT running pass ([0-9]*) $pass on function ($function)"
if [ "$kind" = dies ] && ! grep -q "$skipped" "$code.log"; then
  sed "/$pass on function ($function)/q" "$code.log" >&2
  kill -ABRT $$
fi
cat "$code.log" >&2
if [ "${code%.s}" != "$code" ] && ! grep -q "$skipped" "$code.log"; then
  awk -v name="$function(" '
    index($0, name) { inside = 1 }
    inside && /ret;/ { for (i = 0; i < 64; ++i) print "membar.gl;"; inside = 0 }
    { print }' "$code" > "$code.new"
  mv "$code.new" "$code"
fi
rm "$code.log"
EOF
} > "$out"
chmod +x "$out"
