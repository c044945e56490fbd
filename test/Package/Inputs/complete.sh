# complete.sh FOLDER TOOL WORD...: prints how bash completes the last word.
tool=$(basename "$2")
. "$1/$tool"
shift 2
COMP_WORDS=("$tool" "$@")
COMP_CWORD=$#
_"${tool//-/_}" "$tool" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}" | sed '/^$/d'
