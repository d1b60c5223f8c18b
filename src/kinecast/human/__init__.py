"""Digital humans: a scaled skeleton, foot contact, predicted walking and lifting, ergonomics."""
