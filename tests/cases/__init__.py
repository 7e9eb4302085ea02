"""Failures from public reports, tried on the whole product through its command line."""
