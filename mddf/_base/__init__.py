"""Elementary functions, messages, threads, plain states: nothing that learns."""
