"""The state of our custom resources as metrics: an object becomes bytes once, a scrape joins them.

kinds.py says what is watched, lines.py how an object reads, store.py keeps the bytes, watcher.py
does the I/O. Only the last one touches the API server.
"""
