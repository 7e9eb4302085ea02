"""Rooms of the environments: one folder a backend."""
