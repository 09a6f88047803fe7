//! Seeded random models, facts, parameters and changes.
