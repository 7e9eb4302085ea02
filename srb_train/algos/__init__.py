"""Rooms of the frameworks: one folder a family, a light plate and a heavy machine."""
