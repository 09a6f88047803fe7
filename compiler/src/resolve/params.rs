//! Parameters: each gets its type from what it meets.
//!
//! A question or change is resolved twice: the first run finds the types, the second uses them.
//! So the order in which a parameter meets its types does not matter.

use super::typing;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Expr, Model, Param, ParamId, RecordField, Size, Type};
use crate::syntax::Span;
use crate::syntax::ast::Name;

/// Elements assumed in a list parameter.
pub(super) const LIST_SIZE: Size = Size {
    avg: 10.0,
    max: None,
};

/// What a use asks of a parameter; the strictest use counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Presence {
    /// A value.
    Value,
    /// It is given, if only as null.
    Given,
    /// It may be left out, and is null then.
    Open,
}

#[derive(Clone, Debug)]
struct Known {
    name: String,
    span: Span,
    ty: Option<Type>,
    /// Fields read of it while its type is not known.
    fields: Vec<(String, Option<Type>)>,
    /// What every use allows; none before the first use.
    presence: Option<Presence>,
    /// For the item of a `for each`: its list.
    item_of: Option<usize>,
}

/// The parameters of one question or change.
#[derive(Clone, Debug, Default)]
pub(super) struct Params {
    known: Vec<Known>,
}

impl Params {
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn index(&mut self, name: &Name) -> usize {
        if let Some(found) = self.known.iter().position(|p| p.name == name.text) {
            return found;
        }
        self.known.push(Known {
            name: name.text.clone(),
            span: name.span,
            ty: None,
            fields: Vec::new(),
            presence: None,
            item_of: None,
        });
        self.known.len() - 1
    }

    /// A use of a parameter, or of a field of it, where a type is expected.
    pub(super) fn meet(
        &mut self,
        model: &Model,
        name: &Name,
        parts: &[Name],
        expected: Option<&Type>,
        presence: Presence,
    ) -> Result<(Expr, Type), Diagnostic> {
        let index = self.index(name);
        let id = ParamId(index as u32);
        let Some(known) = self.known.get_mut(index) else {
            return Err(unknown(name.span, &name.text));
        };
        known.presence = Some(known.presence.map_or(presence, |p| p.min(presence)));
        if let [part] = parts
            && !matches!(known.ty, Some(Type::Record(_)))
        {
            return infer_field(model, known, id, part, expected);
        }
        if parts.is_empty() {
            let ty = meet_type(model, known.ty.as_ref(), expected, name.span, &name.text)?;
            known.ty = Some(ty.clone());
            return Ok(project(id, Vec::new(), ty, expected));
        }
        let mut ty = known
            .ty
            .clone()
            .ok_or_else(|| unknown(name.span, &name.text))?;
        let mut path = Vec::new();
        for part in parts {
            let Type::Record(fields) = &ty else {
                let message = format!("`${}` has no field `{}`", name.text, part.text);
                return Err(Diagnostic::new(codes::UNKNOWN_NAME, part.span, message));
            };
            let Some(at) = fields.iter().position(|f| f.name == part.text) else {
                let message = format!("`${}` has no field `{}`", name.text, part.text);
                let found = Diagnostic::new(codes::UNKNOWN_NAME, part.span, message);
                return Err(found.suggest(&part.text, fields.iter().map(|f| f.name.as_str()), ""));
            };
            path.push(at as u16);
            ty = fields.get(at).map_or(Type::Any, |f| f.ty.clone());
        }
        let span = parts.last().map_or(name.span, |p| name.span.to(p.span));
        let label = parts
            .iter()
            .fold(name.text.clone(), |label, p| format!("{label}.{}", p.text));
        meet_type(model, Some(&ty), expected, span, &label)?;
        Ok(project(id, path, ty, expected))
    }

    /// Whether what is compared is never null: a condition asks for a value. The element of a
    /// `for each` and the fields of a record are what the list holds.
    pub(super) fn always_given(&self, id: ParamId, path: &[u16]) -> bool {
        let known = self.known.get(id.index());
        known.is_some_and(|p| {
            p.item_of.is_none() && (path.is_empty() || matches!(p.ty, Some(Type::Key(_))))
        })
    }

    /// Opens a `for each`: the list, and the item that takes its element type.
    pub(super) fn for_each(
        &mut self,
        item: &Name,
        list: &Name,
    ) -> Result<(ParamId, ParamId), Diagnostic> {
        let wrong = |span, message: String| {
            let found = Diagnostic::new(codes::FOR_EACH, span, message);
            Err(found.help("write `for each $line in $lines { … }`"))
        };
        if item.text == list.text {
            return wrong(
                item.span,
                format!("`${}` is both the list and its element", item.text),
            );
        }
        let list_index = self.index(list);
        let item_index = self.index(item);
        let list_type = self.known.get(list_index).and_then(|l| l.ty.clone());
        let element = match &list_type {
            Some(Type::List(element, _) | Type::Set(element, _)) => Some((**element).clone()),
            Some(_) => return wrong(list.span, format!("`${}` is not a list", list.text)),
            None => None,
        };
        if let Some(l) = self.known.get_mut(list_index) {
            l.presence = Some(Presence::Value);
        }
        if let Some(known) = self.known.get_mut(item_index) {
            if known.item_of.is_none() && known.presence.is_some() {
                return wrong(
                    item.span,
                    format!("`${}` is already a parameter of the change", item.text),
                );
            }
            if known.item_of.is_some_and(|l| l != list_index) {
                return wrong(
                    item.span,
                    format!("`${}` is already the element of another list", item.text),
                );
            }
            known.item_of = Some(list_index);
            known.presence = Some(Presence::Open);
            if element.is_some() {
                known.ty = element;
            }
        }
        Ok((ParamId(list_index as u32), ParamId(item_index as u32)))
    }

    /// After the first run: what is known, as the start of the second.
    pub(super) fn settled(mut self) -> Params {
        for known in &mut self.known {
            if known.ty.is_none()
                && !known.fields.is_empty()
                && known.fields.iter().all(|f| f.1.is_some())
            {
                let fields = std::mem::take(&mut known.fields).into_iter();
                let field = |(name, ty): (String, Option<Type>)| {
                    ty.map(|ty| RecordField {
                        name,
                        ty,
                        optional: false,
                    })
                };
                known.ty = Some(Type::Record(fields.filter_map(field).collect()));
            }
            known.fields.clear();
        }
        // Items before lists of items: an inner `for each` comes after its outer one.
        for index in (0..self.known.len()).rev() {
            let Some(item) = self.known.get(index).cloned() else {
                continue;
            };
            let Some(list) = item.item_of.and_then(|l| self.known.get_mut(l)) else {
                continue;
            };
            match (&list.ty, item.ty) {
                (None, Some(ty)) => list.ty = Some(Type::List(Box::new(ty), LIST_SIZE)),
                (Some(Type::List(element, _) | Type::Set(element, _)), _) => {
                    let element = (**element).clone();
                    if let Some(item) = self.known.get_mut(index) {
                        item.ty = Some(element);
                    }
                }
                _ => {}
            }
        }
        for known in &mut self.known {
            known.presence = None;
        }
        self
    }

    /// After the second run: the typed parameters, or those whose type cannot be told.
    pub(super) fn finish(self) -> Result<Vec<Param>, Vec<Diagnostic>> {
        let untyped: Vec<Diagnostic> = self
            .known
            .iter()
            .filter(|p| p.ty.is_none())
            .map(|p| unknown(p.span, &p.name))
            .collect();
        if !untyped.is_empty() {
            return Err(untyped);
        }
        let param = |p: Known| {
            // The element of a `for each` is bound by the change itself: nobody gives it.
            let presence = match p.item_of {
                Some(_) => Presence::Open,
                None => p.presence.unwrap_or(Presence::Value),
            };
            p.ty.map(|ty| Param {
                name: p.name,
                ty,
                optional: presence > Presence::Value,
                omissible: presence == Presence::Open,
            })
        };
        Ok(self.known.into_iter().filter_map(param).collect())
    }
}

fn infer_field(
    model: &Model,
    known: &mut Known,
    id: ParamId,
    part: &Name,
    expected: Option<&Type>,
) -> Result<(Expr, Type), Diagnostic> {
    if let Some(ty) = &known.ty {
        let message = format!(
            "`${}` is a {} and has no fields",
            known.name,
            typing::name(model, ty)
        );
        return Err(Diagnostic::new(codes::UNKNOWN_NAME, part.span, message));
    }
    let at = known
        .fields
        .iter()
        .position(|f| f.0 == part.text)
        .unwrap_or_else(|| {
            known.fields.push((part.text.clone(), None));
            known.fields.len() - 1
        });
    let label = format!("{}.{}", known.name, part.text);
    let Some(field) = known.fields.get_mut(at) else {
        return Err(unknown(part.span, &label));
    };
    let ty = meet_type(model, field.1.as_ref(), expected, part.span, &label)?;
    field.1 = Some(ty.clone());
    Ok(project(id, vec![at as u16], ty, expected))
}

/// A key of one scalar where the scalar is expected is its first part.
fn project(id: ParamId, mut path: Vec<u16>, ty: Type, expected: Option<&Type>) -> (Expr, Type) {
    match (&ty, expected) {
        (Type::Key(_), Some(expected)) if !matches!(expected, Type::Key(_)) => {
            path.push(0);
            (Expr::Param(id, path), expected.clone())
        }
        _ => (Expr::Param(id, path), ty),
    }
}

fn meet_type(
    model: &Model,
    known: Option<&Type>,
    expected: Option<&Type>,
    span: Span,
    name: &str,
) -> Result<Type, Diagnostic> {
    match (known, expected) {
        (None, None) => Err(unknown(span, name)),
        (Some(ty), None) | (None, Some(ty)) => Ok(ty.clone()),
        (Some(a), Some(b)) => typing::meet(model, a, b).ok_or_else(|| {
            let (a, b) = (typing::name(model, a), typing::name(model, b));
            let message = format!("`${name}` is a {a} elsewhere and is used as a {b} here");
            let help = "use two parameters";
            Diagnostic::new(codes::PARAMETER_CLASH, span, message).help(help)
        }),
    }
}

fn unknown(span: Span, name: &str) -> Diagnostic {
    let message = format!("the type of `${name}` cannot be told from its use");
    let help = "compare it with an attribute, or assign it to one";
    Diagnostic::new(codes::PARAMETER_UNKNOWN, span, message).help(help)
}
