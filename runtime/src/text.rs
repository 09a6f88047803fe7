//! Values and instances in messages.

use querent_compiler::codec::to_text;
use querent_compiler::model::{EntityId, Model, Type};
use querent_compiler::value::Value;

/// A value as answers print it, but texts in quotes and null by its name.
pub(crate) fn value_text(model: &Model, ty: &Type, value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Text(t) => format!("'{t}'"),
        value => to_text(model, ty, value),
    }
}

/// The key of an instance, part by part.
pub(crate) fn key_text(model: &Model, root: EntityId, key: &[Value]) -> String {
    let leaves = model.key_leaves(root);
    let parts: Vec<String> = leaves
        .iter()
        .zip(key)
        .map(|(leaf, value)| value_text(model, &model.attribute(leaf.attribute).ty, value))
        .collect();
    parts.join(", ")
}

/// Entity and key of an instance.
pub(crate) fn instance_text(model: &Model, root: EntityId, key: &[Value]) -> String {
    format!("{} {}", model.entity(root).name, key_text(model, root, key))
}
