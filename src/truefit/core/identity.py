"""Identity: the version of what rows, estimators and fits are known by."""

#: Raised whenever what a token, a fingerprint or a key is made of changes.
IDENTITY_VERSION = 3
