//! What each technique is, in one line.

/// One line for a technique's name.
pub(crate) fn meaning(technique: &str) -> &'static str {
    match technique {
        "denormalization" => {
            "copies facts of other entities into the row, so that no second read is needed"
        }
        "aggregate" => "keeps what belongs together nested in one row, read in one piece",
        "application-join" => "the rows of one read name the keys of the next",
        "atomic-aggregate" => "places facts in one row, because it changes in one piece",
        "enumerable-keys" => "numbers keys in order, so that neighbours can be computed",
        "dimensionality-reduction" => "maps a place to cells, so that near things have near keys",
        "index-table" => "lists the same instances by another key than their own",
        "composite-key-index" => {
            "orders a partition by further key parts, so that a prefix or a range is one read"
        }
        "composite-key-aggregation" => "counts along the prefixes of a key",
        "inverted-search" => "leads from a value inside a collection to those that contain it",
        "tree-aggregation" => "keeps a whole tree in one row",
        "adjacency-list" => "each node names its neighbours",
        "materialized-path" => "each node names all its ancestors",
        "nested-set" => "numbers a tree so that a subtree is a range",
        "numbered-fields" => {
            "numbers the fields of nested elements, so that they are searched together"
        }
        "proximity" => "finds values of one nested element by how near they stand",
        "batch-graph" => "passes messages along links in rounds",
        "reverse-timestamp" => "keeps the newest first, so that the latest ones are at the start",
        "hash-prefix" => "spreads a key over several partitions by a hash",
        "entity-attribute-value" => "one row for each attribute of an instance",
        "bucket" => "splits a long partition into periods of time",
        "counter" => {
            "keeps counts and sums, maintained by every change instead of computed by every question"
        }
        "rounded-time" => "groups by time rounded down",
        "static-column" => "keeps what all rows of a partition share once",
        "blob-apart" => "keeps large values apart from those that are read often",
        "popular-key-split" => "splits a popular key into sub-partitions as it grows",
        "packed-series" => "packs many measurements into one row",
        "time-to-live" => "keeps when an instance expires, so that it goes by itself",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_technique_that_the_designer_names_is_explained() {
        let names = [
            "index-table",
            "inverted-search",
            "denormalization",
            "aggregate",
            "counter",
            "composite-key-index",
            "rounded-time",
            "bucket",
            "hash-prefix",
            "popular-key-split",
            "reverse-timestamp",
            "time-to-live",
        ];
        for name in names {
            assert!(!super::meaning(name).is_empty(), "{name}");
        }
    }
}
