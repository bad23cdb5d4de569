"""A params file held to its schemas, and the record that every check looks at."""
