//! The pure half of Querent: text in, values and diagnostics out.
//!
//! No IO, no async, and no panic on any input. The folder tree is the pipeline:
//! `syntax` (text to tree), `resolve` (tree to [`model`]), [`design`] (model to design),
//! with [`view`] as the one meaning of structures and questions that all of them share.

pub mod codec;
pub mod design;
pub mod diagnostic;
pub mod model;
pub mod plot;
mod resolve;
pub mod syntax;
pub mod value;
pub mod view;

use diagnostic::Diagnostic;
use model::Model;

/// Reads a model. There is one if and only if no finding is an error; all findings are given.
///
/// The name of the file is the model's where the text does not begin with `model name`.
pub fn parse(file_name: &str, text: &str) -> (Option<Model>, Vec<Diagnostic>) {
    let (ast, mut diagnostics) = syntax::parse(text);
    let (mut model, found) = resolve::ast_to_model(&ast, text, file_name);
    let failed = diagnostics.iter().any(Diagnostic::is_error);
    diagnostics.extend(found);
    // Where the text has errors, what could not be read may have been an entity.
    if !failed && model.as_ref().is_some_and(|m| m.entities.is_empty()) {
        diagnostics.push(resolve::no_entity(&ast));
        model = None;
    }
    diagnostics.sort_by_key(|d| (d.span.start, d.code.id));
    (model.filter(|_| !failed), diagnostics)
}

/// Lays a text out in the one standard way, comments kept. A text with syntax errors is refused.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    syntax::format(text)
}
