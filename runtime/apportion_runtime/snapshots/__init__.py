"""A cluster at one moment as text: the documented snapshot format, and the objects that kubectl prints."""
