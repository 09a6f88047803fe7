//! Where a declaration stands, by its name: for findings that are made long after the text was
//! read. The place is that of the number that the declaration states, else that of its name.

use super::Span;
use super::ast::{Ast, Declaration, Entity, FieldKind, Rate, Size, TypeKind};

/// An entity: its count.
pub fn entity(tree: &Ast, name: &str) -> Option<Span> {
    let entity = declared(tree, name)?;
    let count = entity.count.as_ref().map(|c| c.span);
    Some(count.unwrap_or(entity.name.span))
}

/// A field: its largest size. The ends of a many-to-many relationship are `to` and `from` of
/// `Entity.name`.
pub fn field(tree: &Ast, owner: &str, name: &str) -> Option<Span> {
    if let Some((entity, link)) = owner.split_once('.') {
        let field = fields(tree, entity, link)?;
        let FieldKind::Link(sides) = &field.kind else {
            return Some(field.name.span);
        };
        let size = if name == "from" {
            &sides.forward
        } else {
            &sides.backward
        };
        return Some(stated(size).unwrap_or(field.name.span));
    }
    let name = name.split('@').next().unwrap_or(name);
    let field = fields(tree, owner, name)?;
    let size = match &field.kind {
        FieldKind::Link(link) => stated(&link.backward),
        FieldKind::Value(ty) => match &ty.kind {
            TypeKind::Named { size, .. } => stated(size),
            TypeKind::Record(_) => None,
        },
    };
    Some(size.unwrap_or(field.name.span))
}

/// What a field states of how many share a value: at most, else how many values there are; else
/// its name.
pub fn values(tree: &Ast, owner: &str, name: &str) -> Option<Span> {
    let Some(declared) = fields(tree, owner, name) else {
        return field(tree, owner, name);
    };
    let plain = matches!(&declared.kind, FieldKind::Value(_));
    match &declared.distinct {
        Some(distinct) => Some(stated(&distinct.sharing).unwrap_or(distinct.values.span)),
        None if plain => Some(declared.name.span),
        None => field(tree, owner, name),
    }
}

/// A question: its rate, where it has several that of a mix. A change may have the same name.
pub fn question(tree: &Ast, name: &str, mix: Option<&str>) -> Option<Span> {
    tree.declarations.iter().find_map(|d| match d {
        Declaration::Question(q) if q.name.text == name => {
            Some(rate(&q.options.rates, mix).unwrap_or(q.name.span))
        }
        _ => None,
    })
}

/// A change: its rate, where it has several that of a mix. A question may have the same name.
pub fn change(tree: &Ast, name: &str, mix: Option<&str>) -> Option<Span> {
    tree.declarations.iter().find_map(|d| match d {
        Declaration::Change(c) if c.name.text == name => {
            Some(rate(&c.options.rates, mix).unwrap_or(c.name.span))
        }
        _ => None,
    })
}

/// The rate of a mix, else the first.
fn rate(rates: &[Rate], mix: Option<&str>) -> Option<Span> {
    let named = |r: &&Rate| r.mix.as_ref().map(|m| m.text.as_str()) == mix;
    let rate = rates.iter().find(named).or(rates.first());
    rate.map(|r| r.number.span)
}

fn declared<'t>(tree: &'t Ast, name: &str) -> Option<&'t Entity> {
    tree.declarations.iter().find_map(|d| match d {
        Declaration::Entity(e) if e.name.text == name => Some(e),
        _ => None,
    })
}

fn fields<'t>(tree: &'t Ast, entity: &str, field: &str) -> Option<&'t super::ast::Field> {
    let fields = &declared(tree, entity)?.fields;
    fields.iter().find(|f| f.name.text == field)
}

fn stated(size: &Size) -> Option<Span> {
    let number = size.max.as_ref().or(size.avg.as_ref());
    number.map(|n| n.span)
}

/// The name of a structure of a schema; other schemas may name structures alike.
pub fn structure(ast: &Ast, schema: &str, name: &str) -> Option<Span> {
    ast.declarations.iter().find_map(|d| match d {
        Declaration::Schema(s) if s.name.text == schema => {
            let found = s.structures.iter().find(|s| s.name.text == name);
            found.map(|s| s.name.span)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question and a change may have one name: each is found by its kind.
    #[test]
    fn statements_of_one_name_are_told_apart() {
        let text = "model m\nentity Post (1M) {\n  id bigint key\n}\n\
                    question post (1/s) select id from Post where id = $id\n\
                    change post (10k/s) insert Post\n";
        let (tree, _) = crate::syntax::parse(text);
        let at = |span: Option<Span>| span.and_then(|s| text.get(s.start..s.end));
        let rate = |of: Option<Span>| at(of).map(|rate| rate.trim_end_matches("/s").to_owned());
        assert_eq!(rate(question(&tree, "post", None)).as_deref(), Some("1"));
        assert_eq!(rate(change(&tree, "post", None)).as_deref(), Some("10k"));
        assert_eq!(question(&tree, "posts", None), None);
    }
}
