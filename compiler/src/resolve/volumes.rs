//! Numbers that a model states more than once: counts, averages and maxima that cannot all be true.

use super::{Resolver, numbers};
use crate::design::shown;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Attribute, EntityId, Size, Type};
use crate::syntax::Span;
use crate::syntax::ast;

/// What people round: numbers that are no further apart do not contradict each other.
const ROUNDED: f64 = 2.0;

impl Resolver<'_> {
    /// How many different values a field states, and how many share one of them at most.
    pub(super) fn distinct(&mut self, field: &ast::Field) -> (Option<f64>, Option<f64>) {
        let Some(distinct) = &field.distinct else {
            return (None, None);
        };
        let values = self.checked(numbers::count(&distinct.values));
        if values == Some(0.0) {
            let message = format!("`{}` has at least one value", field.name.text);
            let found = Diagnostic::new(codes::SIZE, distinct.values.span, message);
            self.report(found.help("state how many different values there are, or leave it out"));
        }
        if let Some(avg) = &distinct.sharing.avg {
            let message = format!(
                "how many share a value of `{}` on average follows from the counts",
                field.name.text
            );
            let found = Diagnostic::new(codes::FIELD_FORM, avg.span, message);
            self.report(found.help("state only the most: `distinct 1000 (max 50k)`"));
        }
        let stated = distinct.sharing.max.as_ref();
        let sharing = stated.and_then(|n| self.checked(numbers::count(n)));
        if let (Some(number), Some(0.0)) = (stated, sharing) {
            let message = format!("a value of `{}` is that of one at least", field.name.text);
            self.report(Diagnostic::new(codes::SIZE, number.span, message).help("raise `max`"));
        }
        (values, sharing.filter(|most| *most > 0.0))
    }

    /// What an attribute states of its values against the count of its entity.
    pub(super) fn check_distinct(&mut self, field: &ast::Field, attribute: &Attribute) {
        let Some(distinct) = &field.distinct else {
            return;
        };
        let owner = self.model.entity(attribute.entity);
        let (name, of, count) = (&field.name.text, owner.name.clone(), owner.count);
        // Each instance has one value, or the elements of its collection.
        let each = match &attribute.ty {
            Type::List(_, size) | Type::Set(_, size) | Type::Map(_, _, size) => *size,
            _ => Size {
                avg: 1.0,
                max: Some(1.0),
            },
        };
        let all = count * each.avg;
        let values = attribute.cardinality.unwrap_or(1.0);
        if values > all.max(1.0) * ROUNDED || (each.max == Some(1.0) && values > count) {
            let message = format!(
                "`{name}` has {} values, but {} has only {}",
                shown(values),
                of,
                shown(all)
            );
            let help = format!("state at most {}, or a larger count of {of}", shown(all));
            self.contradict(distinct.values.span, message, help);
        }
        if attribute.unique && !attribute.optional && values * ROUNDED < count {
            let message = format!(
                "`{name}` is unique and has {} values, but there are {} of {of}",
                shown(values),
                shown(count)
            );
            let help = "leave out `distinct`: each has a value of its own".into();
            self.contradict(distinct.values.span, message, help);
        }
        let (Some(most), Some(number)) = (attribute.sharing, &distinct.sharing.max) else {
            return;
        };
        if most > count {
            let message = format!(
                "{} share a value of `{name}` at most, but there are only {} of {of}",
                shown(most),
                shown(count)
            );
            let help = format!("state at most {}, or a larger count of {of}", shown(count));
            self.contradict(number.span, message, help);
        } else if values * most * ROUNDED < all && !attribute.optional {
            let message = format!(
                "{} values that {} share at most are those of {}, but {of} has {}",
                shown(values),
                shown(most),
                shown(values * most),
                shown(all)
            );
            let help = format!(
                "the average is {}: state a larger `max`",
                shown(all / values)
            );
            self.contradict(number.span, message, help);
        }
    }

    /// What a `->` states of its way back against the counts of both sides.
    pub(super) fn check_referrers(
        &mut self,
        field: &ast::Field,
        link: &ast::Link,
        entity: EntityId,
        target: EntityId,
        (avg, max): (f64, f64),
    ) {
        let (from, to) = (self.model.entity(entity), self.model.entity(target));
        let (from_name, from) = (from.name.clone(), from.count);
        let (to_name, to) = (to.name.clone(), to.count);
        let name = &field.name.text;
        let stated = link.backward.avg.as_ref().or(link.backward.max.as_ref());
        let Some(number) = stated else { return };
        let implied = avg * to;
        let few = implied * ROUNDED < from && !link.optional;
        if few || implied > from * ROUNDED {
            let word = if link.backward.avg.is_some() {
                "on average"
            } else {
                "at most"
            };
            let message = format!(
                "`{name}`: {} of {to_name}, to each of which {} refer {word}, make {} of {from_name}, but there are {}",
                shown(to),
                shown(avg),
                shown(implied),
                shown(from)
            );
            let help = format!("the counts make it {} on average", shown(from / to));
            self.contradict(number.span, message, help);
        }
        if let Some(number) = link.backward.max.as_ref().filter(|_| max > from) {
            let message = format!(
                "`{name}`: {} refer to one at most, but there are only {} of {from_name}",
                shown(max),
                shown(from)
            );
            let help = format!("state at most {}, or a larger count", shown(from));
            self.contradict(number.span, message, help);
        }
    }

    /// What the two sides of a `->>` state: entity, size, average, and the other side.
    pub(super) fn check_links(
        &mut self,
        field: &ast::Field,
        sides: [(EntityId, &ast::Size, f64, EntityId); 2],
    ) {
        let links = sides.map(|(entity, _, avg, _)| self.model.entity(entity).count * avg);
        let [(_, forward, from_avg, _), (_, backward, to_avg, _)] = sides;
        if let (Some(_), Some(number)) = (&forward.avg, &backward.avg) {
            let [a, b] = links;
            if a.max(b) > a.min(b) * ROUNDED {
                let of = sides.map(|(entity, ..)| self.model.entity(entity));
                let [from, to] = of.map(|e| (e.name.clone(), e.count));
                let message = format!(
                    "`{}`: {} of {} with {} each are {} links, but {} of {} with {} each are {}",
                    field.name.text,
                    shown(from.1),
                    from.0,
                    shown(from_avg),
                    shown(a),
                    shown(to.1),
                    to.0,
                    shown(to_avg),
                    shown(b)
                );
                let help = format!("the other side makes it {} on average", shown(a / to.1));
                self.contradict(number.span, message, help);
            }
        }
        for (_, size, _, other) in sides {
            let count = self.model.entity(other).count;
            let name = self.model.entity(other).name.clone();
            let max = size.max.as_ref().and_then(|n| numbers::count(n).ok());
            if let (Some(number), Some(max)) = (&size.max, max.filter(|m| *m > count)) {
                let message = format!(
                    "`{}`: {} at most, but there are only {} of {name}",
                    field.name.text,
                    shown(max),
                    shown(count)
                );
                let help = format!("state at most {}, or a larger count", shown(count));
                self.contradict(number.span, message, help);
            }
        }
    }

    fn contradict(&mut self, span: Span, message: String, help: String) {
        self.report(Diagnostic::new(codes::CONTRADICTION, span, message).help(help));
    }
}
