"""One module per command, imported on use: see `apportion_cli.verbs`."""
