"""What is measured, against whom; run it by `make bench`."""
