complete --keep-order --exclusive --command agentctl --arguments "(AGENTCTL_COMPLETE=fish agentctl -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
