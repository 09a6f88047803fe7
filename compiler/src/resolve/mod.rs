//! Tree to model: every name looked up, every type known, everything reduced to the few forms
//! that [`crate::model`] documents.

mod aggregates;
mod changes;
mod conditions;
mod constants;
mod context;
mod entities;
mod expiry;
mod fields;
mod hierarchy;
mod links;
mod numbers;
mod order;
mod params;
mod questions;
mod rates;
mod renumber;
mod schemas;
mod scope;
mod shapes;
mod typing;
mod values;
mod volumes;

use crate::diagnostic::{Diagnostic, codes};
use crate::model::{EntityId, Model};
use crate::syntax::Span;
use crate::syntax::ast::{Ast, Declaration, Name};
use std::collections::{BTreeMap, BTreeSet};

/// Resolves a tree. There is a model if and only if no finding is an error.
pub(crate) fn ast_to_model(
    ast: &Ast,
    text: &str,
    file_name: &str,
) -> (Option<Model>, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        text,
        model: Model::default(),
        diagnostics: Vec::new(),
        later: Later::default(),
    };
    resolver.model.name = ast
        .name
        .as_ref()
        .map_or_else(|| stem(file_name), |n| n.text.clone());
    let sound = resolver.entities(ast);
    resolver.rates(ast);
    if sound {
        resolver.statements(ast);
    }
    let Resolver {
        model, diagnostics, ..
    } = resolver;
    let failed = diagnostics.iter().any(Diagnostic::is_error);
    (if failed { None } else { Some(model) }, diagnostics)
}

/// What is said of a text that declares no entity.
pub(crate) fn no_entity(ast: &Ast) -> Diagnostic {
    let span = ast.name.as_ref().map_or(Span::new(0, 0), |n| n.span);
    let found = Diagnostic::new(codes::NO_ENTITY, span, "the model has no entity");
    found.help("declare what exists: `entity User (2M) { id bigint key }`")
}

fn stem(file_name: &str) -> String {
    let base = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    base.split('.').next().unwrap_or(base).to_owned()
}

struct Resolver<'a> {
    text: &'a str,
    model: Model,
    diagnostics: Vec<Diagnostic>,
    later: Later,
}

/// Which entities have forms of later versions, so that what depends on them is called that too.
#[derive(Default)]
struct Later {
    /// Roots with a tree: `depth`, `path`.
    trees: BTreeSet<EntityId>,
    /// Roots with searched text: `score`.
    words: BTreeSet<EntityId>,
}

impl Resolver<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Questions and changes, each in a context of its own.
    fn statements(&mut self, ast: &Ast) {
        let (mut questions, mut changes, mut jobs, mut schemas) = (
            Names::default(),
            Names::default(),
            Names::default(),
            Names::default(),
        );
        for declaration in &ast.declarations {
            match declaration {
                Declaration::Question(question) => {
                    questions.declare(&question.name, "question", &mut self.diagnostics);
                    self.question(question);
                }
                Declaration::Change(change) => {
                    changes.declare(&change.name, "change", &mut self.diagnostics);
                    self.change(change);
                }
                Declaration::Schema(schema) => {
                    schemas.declare(&schema.name, "schema", &mut self.diagnostics);
                    self.schema(schema);
                }
                Declaration::Job(job) => {
                    jobs.declare(job, "job", &mut self.diagnostics);
                    let message =
                        format!("batch graph jobs (`{}`) are not yet supported", job.text);
                    self.report(
                        Diagnostic::new(codes::LATER, job.span, message).help("remove the job"),
                    );
                }
                Declaration::Enum(_) | Declaration::Entity(_) => {}
            }
        }
    }
}

/// Names of one kind, each declared once.
#[derive(Default)]
struct Names(BTreeMap<String, Span>);

impl Names {
    /// False, with a finding, where the name is taken.
    fn declare(&mut self, name: &Name, what: &str, diagnostics: &mut Vec<Diagnostic>) -> bool {
        match self.0.get(&name.text) {
            None => {
                self.0.insert(name.text.clone(), name.span);
                true
            }
            Some(&first) => {
                let message = format!("the {what} `{}` is declared twice", name.text);
                let found = Diagnostic::new(codes::DUPLICATE, name.span, message);
                diagnostics.push(
                    found
                        .label(first, "first here")
                        .help("give one of them another name"),
                );
                false
            }
        }
    }
}
