//! The clustering parts of a key, where the target bounds them apart from the whole.

use super::finding::{Finding, Subject, grouped};
use crate::design::display::Printer;
use crate::design::target::Target;
use crate::diagnostic::codes::KEY_LIMIT;
use crate::model::{Expr, Leaf, Model};
use crate::view::typing::Scope;
use crate::view::{Structure, key_size};

/// What to say of clustering parts that may be too long together: the longest of them is to blame.
pub(crate) fn long_clustering(model: &Model, target: &Target, s: &Structure) -> Option<Finding> {
    let limit = target.limits.clustering_bytes?;
    let stats = target.stats(model);
    let scope = Scope::new(model, s.anchor, &s.over);
    let expected = |(i, e): (usize, &Expr)| {
        if s.is_hashed(i) {
            key_size::HASHED as f64
        } else {
            stats.bytes(&scope, e).max
        }
    };
    let parts = || s.key().enumerate().skip(s.partition.len());
    let size: f64 = parts().map(expected).sum();
    if size <= limit {
        return None;
    }
    let whole = parts().filter(|(i, _)| !s.is_hashed(*i));
    let (_, longest) = whole.max_by(|a, b| expected(*a).total_cmp(&expected(*b)))?;
    let name = Printer::of_structure(model, s).expr(longest);
    Some(Finding {
        code: KEY_LIMIT.id.into(),
        structure: s.name.clone(),
        subject: stated_by(model, s, longest),
        found: size,
        limit,
        message: format!(
            "{}: clustering parts of more than {} bytes are refused, and with `{name}`, which is kept \
             in order, they may be that long",
            s.name,
            grouped(limit),
        ),
        help: "bound it by a smaller `max`, or order by something shorter".into(),
        mixes: vec![],
    })
}

/// The declaration that says how long a key part is.
fn stated_by(model: &Model, s: &Structure, part: &Expr) -> Subject {
    let name = |e| model.entity(e).name.clone();
    match part {
        Expr::Path {
            leaf: Leaf::Attribute(a, _),
            ..
        } => {
            let a = model.attribute(*a);
            Subject::Field(name(a.entity), a.name.clone())
        }
        _ => Subject::Entity(name(s.anchor)),
    }
}
