# complete.zsh FOLDER LINE: prints the line after a TAB at its end, in a terminal.
# A terminal of this size, whatever the environment has.
export TERM=xterm COLUMNS=200
zmodload zsh/zpty
zpty shell zsh -f -i
await() { local text; zpty -r shell text "*$1*" && print -r -- "$text"; }
zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D"
# The marks are not in what the terminal echoes.
zpty -w shell 'show() { print -r -- "LI${:-NE}:$BUFFER:EN${:-D}" }; zle -N show; bindkey "^X" show'
zpty -w shell 'print REA${:-DY}'
await READY > /dev/null
zpty -w -n shell "$2"$'\t\C-X'
await :END
