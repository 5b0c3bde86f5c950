"""Cryptography: does this bundle prove that this authority signed this digest?

The only place that touches sigstore and `cryptography` for images.
Everything foreign is turned into VerificationFailed or InvalidPolicy at this package's edge.
"""
