"""A params file, validated against its schemas, and the record that every check reads."""
