"""Parts of the multi-label deep forest."""
