_clap_complete_agentctl() {
    # bash splits words at `=` and `:`, and tells in $2 what of the word it would replace, without an open quote.
    # agentctl gets words as they were typed.
    local words=() index=-1 current=0 start=0 at word blank rest=$COMP_LINE
    for ((at = 0; at < ${#COMP_WORDS[@]}; at++)); do
        word=${COMP_WORDS[at]}
        blank=${rest%%[^[:space:]]*}
        if [[ $index -lt 0 || -n $blank ]]; then
            index=$((index + 1))
            words[index]=
            if ((at <= COMP_CWORD)); then
                start=$((${#COMP_LINE} - ${#rest} + ${#blank}))
            fi
        fi
        words[index]+=$word
        rest=${rest#*"$word"}
        if ((at == COMP_CWORD)); then
            current=$index
        fi
    done
    words[current]=
    if ((start < COMP_POINT)); then
        words[current]=${COMP_LINE:start:COMP_POINT-start}
    fi
    local kept=
    if [[ ${words[current]} == *"$2" ]]; then
        kept=${words[current]%"$2"}
    fi

    local replies one
    replies=$(_CLAP_COMPLETE_INDEX=$current AGENTCTL_COMPLETE=bash agentctl -- "${words[@]}" 2> /dev/null) || return
    COMPREPLY=()
    while [[ -n $replies ]]; do
        one=${replies%%$'\013'*}
        # Another version of agentctl may not end the last one.
        replies=${replies#"$one"}
        replies=${replies#$'\013'}
        COMPREPLY+=("${one#"$kept"}")
    done
    # Without `compopt`, in bash 3, there is never a blank after a value.
    if compopt +o nospace 2> /dev/null && [[ ${COMPREPLY-} =~ [=/:]$ ]]; then
        compopt -o nospace
    fi
}
if [[ ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 || ${BASH_VERSINFO[0]} -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _clap_complete_agentctl agentctl
else
    complete -o nospace -o bashdefault -F _clap_complete_agentctl agentctl
fi
