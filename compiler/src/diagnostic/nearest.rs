//! The nearest of some names, for suggestions.

/// The name with the smallest edit distance, if that is at most a third of the longer name.
/// The first of several equally near ones.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .filter(|name| *name != written)
        .map(|name| (distance(written, name), name))
        .filter(|&(d, name)| d <= (written.chars().count().max(name.chars().count()) / 3).max(1))
        .min_by_key(|&(d, _)| d)
        .map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours, letter case for free.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(64).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &cb) in b.iter().enumerate() {
            let at = |r: &[usize], k: usize| r.get(k).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&last, j) + usize::from(ca != cb))
                .min(at(&last, j + 1) + 1)
                .min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(&cb) && b.get(j - 1) == Some(&ca);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let names = ["title", "posted_at", "author"];
        assert_eq!(nearest("titel", names), Some("title"));
        assert_eq!(nearest("postedat", names), Some("posted_at"));
        assert_eq!(nearest("Author", names), Some("author"));
        assert_eq!(nearest("comments", names), None);
        assert_eq!(nearest("", names), None);
    }
}
