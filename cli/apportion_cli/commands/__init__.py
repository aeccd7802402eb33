"""One module for each verb, imported when the verb is used: see `apportion_cli.verbs`."""
