//! From a model's files to its design, as several commands need it.

use crate::command::print_findings;
use crate::model_files::ModelFiles;
use crate::terminal::Terminal;
use crate::words::number::Unit;
use anyhow::{Context, Result, bail};
use querent_compiler::design::target::{self, CostModel, Target};
use querent_compiler::design::{Design, Options, design};
use querent_compiler::diagnostic::{Diagnostic, Style, nearest};
use querent_compiler::model::{Model, Schema};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Work that takes longer than this says so.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// What a design is asked for with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) model: &'a Path,
    pub(crate) target: &'a str,
    pub(crate) mix: Option<&'a str>,
    pub(crate) cost_model: Option<&'a str>,
    pub(crate) lossy: bool,
    pub(crate) schema: Option<&'a str>,
}

/// A design with what it was made from.
pub(crate) struct Designed {
    pub(crate) model: Model,
    pub(crate) options: Options,
    pub(crate) design: Design,
    pub(crate) unit: Unit,
    pub(crate) seconds: f64,
    /// The model's text, to show what a finding is about; none where the model is built in.
    pub(crate) files: Option<ModelFiles>,
}

/// Reads and designs a model. None where the model has errors, which are printed.
pub(crate) fn designed(wanted: Wanted<'_>, terminal: &mut Terminal) -> Result<Option<Designed>> {
    designed_of(wanted, |model| model, terminal)
}

/// The same, of a model that is changed before it is designed.
pub(crate) fn designed_of(
    wanted: Wanted<'_>,
    change: impl FnOnce(Model) -> Model,
    terminal: &mut Terminal,
) -> Result<Option<Designed>> {
    let mut target = target_named(wanted.target)?;
    if let Some(name) = wanted.cost_model {
        let priced = cost_model_named(name)?;
        (target.cost, target.about) = (priced.cost, priced.about);
    }
    let files = ModelFiles::read(wanted.model)?;
    let Some((model, _)) = model_of(wanted.model, &files, terminal)? else {
        return Ok(None);
    };
    let options = Options {
        target,
        mix: wanted.mix.map(str::to_owned),
        lossy: wanted.lossy,
        given: wanted.schema.map(|name| given(&model, name)).transpose()?,
        ..Options::embedded()
    };
    let mut designed = Designed::new(change(model), options)?;
    designed.files = Some(files);
    Ok(Some(designed))
}

impl Designed {
    /// Designs a model.
    pub(crate) fn new(model: Model, options: Options) -> Result<Designed> {
        let start = Instant::now();
        let design = with_notice("designing…", || design(&model, &options))?;
        Ok(Designed {
            unit: Unit::of(&options.target),
            model: design.model_of(&model),
            options,
            design,
            seconds: start.elapsed().as_secs_f64(),
            files: None,
        })
    }
}

/// A schema of the model.
pub(crate) fn given(model: &Model, name: &str) -> Result<Schema> {
    if let Some(schema) = model.schemas.iter().find(|s| s.name == name) {
        return Ok(schema.clone());
    }
    let names: Vec<&str> = model.schemas.iter().map(|s| s.name.as_str()).collect();
    if names.is_empty() {
        bail!("there is no schema `{name}`: the model has no `schema` blocks");
    }
    unknown("schema", name, &names)
}

/// Reads a model and its text. None where it has errors, which are printed.
pub(crate) fn read_model(path: &Path, terminal: &mut Terminal) -> Result<Option<(Model, String)>> {
    model_of(path, &ModelFiles::read(path)?, terminal)
}

/// Resolves a model. None where it has errors, which are printed.
pub(crate) fn model_of(
    path: &Path,
    files: &ModelFiles,
    terminal: &mut Terminal,
) -> Result<Option<(Model, String)>> {
    let text = files.text();
    let (model, diagnostics) = querent_compiler::parse(&path.display().to_string(), &text);
    let errors: Vec<Diagnostic> = diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    if let Some(model) = model {
        return Ok(Some((model, text)));
    }
    terminal.out.flush()?;
    let style = if terminal.colour_err {
        Style::Colour
    } else {
        Style::Plain
    };
    print_findings(files, &errors, style, &mut std::io::stderr())?;
    Ok(None)
}

/// A target by name.
pub(crate) fn target_named(name: &str) -> Result<Target> {
    match target::named(name) {
        Some(target) => Ok(target),
        None => unknown("target", name, target::NAMES),
    }
}

/// A cost model that ships, or one in a file, as `querent calibrate` writes it.
fn cost_model_named(name: &str) -> Result<CostModel> {
    let path = Path::new(name);
    if path.extension().is_some_and(|e| e == "json") {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {name}"))?;
        return CostModel::read(&text).with_context(|| {
            format!("{name} is not a cost model, as `querent calibrate --output {name}` writes one")
        });
    }
    match target::cost_model(name) {
        Some(model) => Ok(model),
        None if path.is_file() => {
            bail!("`{name}` is no cost model: the name of a file of one ends in .json")
        }
        None => unknown("cost model", name, target::COST_MODELS),
    }
}

fn unknown<T>(what: &str, name: &str, names: &[&str]) -> Result<T> {
    match nearest(name, names.iter().copied()) {
        Some(near) => bail!("there is no {what} `{name}`; did you mean `{near}`?"),
        None => bail!(
            "there is no {what} `{name}`; the {what}s are {}",
            names.join(", ")
        ),
    }
}

/// Does some work; says so on standard error where it takes long.
pub(crate) fn with_notice<T>(notice: &str, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = writeln!(std::io::stderr(), "{notice}");
            }
        });
        let result = work();
        drop(done);
        result
    })
}
