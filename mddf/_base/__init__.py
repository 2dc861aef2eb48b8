"""Parts without any learning: elementary functions, messages, threads, stored states."""
