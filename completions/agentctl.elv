
set edit:completion:arg-completer[agentctl] = { |@words|
    var index = (count $words)
    set index = (- $index 1)

    put (env _CLAP_IFS="\n" _CLAP_COMPLETE_INDEX=(to-string $index) AGENTCTL_COMPLETE="elvish" agentctl -- $@words) | to-lines
}

