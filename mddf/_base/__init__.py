"""Elementary functions, messages, threads, plain states: nothing that learns.

Imports nothing of mddf but the kernel.
"""
