"""Statistics on plain arrays: arrays in, arrays and floats out, no fits and no data tables."""
