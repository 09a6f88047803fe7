//! fmt
use crate::diagnostic::Diagnostic;
/// fmt
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    Ok(text.to_owned())
}
