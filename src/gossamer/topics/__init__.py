"""Topic names and filters: validate, match, contain; the filter tree; minimal covers."""
