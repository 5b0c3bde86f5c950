"""The webhook's own certificate authority and serving certificate, and their rotation."""
