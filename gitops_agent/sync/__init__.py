"""The sync itself: what is to be done (pure), and the doing of it in an order that can be cut anywhere.

Ownership is recorded before it is taken and retired only after the object is seen gone, so a crash at any
instruction leaves an inventory that names everything that is there.
"""
