//! Rates, weights and mixes.

use super::{Resolver, numbers};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::Span;
use crate::syntax::ast::{Ast, Declaration, Name, Options};

impl Resolver<'_> {
    /// Finds the mixes, and checks that all questions and changes speak of rates in one way.
    pub(super) fn rates(&mut self, ast: &Ast) {
        let all: Vec<(&Name, &Options)> = ast
            .declarations
            .iter()
            .filter_map(|d| match d {
                Declaration::Question(q) => Some((&q.name, &q.options)),
                Declaration::Change(c) => Some((&c.name, &c.options)),
                _ => None,
            })
            .collect();
        let mut with_unit: Option<(bool, Span)> = None;
        let mut with_mix: Option<(bool, Span)> = None;
        for (name, options) in all {
            if options.rates.is_empty() {
                let message = format!("`{}` has no rate", name.text);
                let found = Diagnostic::new(codes::RATE_MISSING, name.span, message);
                self.report(found.help("say how often: `(10/s)`, `(1/min)`, or a weight `(4.5)`"));
            }
            for (i, rate) in options.rates.iter().enumerate() {
                let span = rate.number.span;
                let first = *with_unit.get_or_insert((rate.per.is_some(), span));
                if first.0 != rate.per.is_some() {
                    let found =
                        Diagnostic::new(codes::RATE_MIXED, span, "rates and weights are mixed");
                    self.report(
                        found
                            .label(first.1, "the other kind")
                            .help("write all with a unit, or none"),
                    );
                }
                let first = *with_mix.get_or_insert((rate.mix.is_some(), span));
                let twice = |r: &crate::syntax::ast::Rate| {
                    r.mix.as_ref().map(|m| &m.text) == rate.mix.as_ref().map(|m| &m.text)
                };
                if first.0 != rate.mix.is_some() {
                    let message = "some rates name a mix and others do not";
                    let found = Diagnostic::new(codes::MIXES, span, message)
                        .label(first.1, "the other kind");
                    self.report(found.help("name the mix of every rate, or of none"));
                } else if options.rates.iter().take(i).any(twice) {
                    let message = match &rate.mix {
                        Some(mix) => format!("the mix `{}` is named twice", mix.text),
                        None => "there are two rates".to_owned(),
                    };
                    self.report(
                        Diagnostic::new(codes::MIXES, span, message).help("keep one of them"),
                    );
                }
                if let Some(mix) = &rate.mix
                    && !self.model.mixes.contains(&mix.text)
                {
                    self.model.mixes.push(mix.text.clone());
                }
            }
        }
    }

    /// One number per mix, or a single one; per second where it is a rate.
    pub(super) fn rates_of(&mut self, options: &Options) -> Vec<f64> {
        let mut rates = vec![0.0; self.model.mixes.len().max(1)];
        for rate in &options.rates {
            let mut value = match numbers::count(&rate.number) {
                Ok(value) => value,
                Err(found) => {
                    self.report(found);
                    continue;
                }
            };
            if let Some(per) = &rate.per {
                let unit = numbers::RATES.iter().find(|(unit, _)| *unit == per.text);
                if let Some((_, seconds)) = unit {
                    value /= seconds;
                    self.model.timed = true;
                } else {
                    let message = format!("`{}` is no unit of time", per.text);
                    let found = Diagnostic::new(codes::NUMBER, per.span, message);
                    self.report(found.help("rates are /s, /min, /h or /day"));
                }
            }
            let mix = rate.mix.as_ref();
            let place = mix
                .and_then(|m| self.model.mixes.iter().position(|n| *n == m.text))
                .unwrap_or(0);
            if let Some(slot) = rates.get_mut(place) {
                *slot = value;
            }
        }
        rates
    }
}
