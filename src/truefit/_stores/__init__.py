"""Where outcomes are kept between fits, and between runs."""
