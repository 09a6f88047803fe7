//! Progress of what takes long.

use crate::designing::PATIENCE;
use crate::words::number;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use querent::load::Progress;
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// A bar on a terminal, plain lines elsewhere.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    start: Instant,
    last: Option<Instant>,
}

impl Shown {
    pub(crate) fn new() -> Shown {
        Shown {
            bar: std::io::stderr().is_terminal().then(ProgressBar::hidden),
            start: Instant::now(),
            last: None,
        }
    }

    /// How far a load is.
    pub(crate) fn load(&mut self, progress: &Progress) {
        match &self.bar {
            Some(bar) => draw(bar, progress, self.start),
            None => self.print(progress),
        }
    }

    /// Step so many, from 1, of so many.
    pub(crate) fn step(&mut self, step: usize, of: usize, what: &str) {
        match &self.bar {
            Some(bar) => steps(bar, step, of, what.to_owned()),
            None => self.say(&format!("{what} ({step} of {of})")),
        }
    }

    /// The same, but only on a terminal, and only once the work has taken long.
    pub(crate) fn step_of_long(&mut self, step: usize, of: usize, what: &str) {
        if let Some(bar) = &self.bar
            && self.start.elapsed() >= PATIENCE
        {
            steps(bar, step, of, what.to_owned());
        }
    }

    /// A log is read later: a line every few seconds says enough.
    fn print(&mut self, progress: &Progress) {
        let text = match progress {
            Progress::Reading {
                file,
                rows,
                bytes,
                of,
            } => format!(
                "reading {file}: {rows} rows, {} of {}",
                number::bytes(*bytes as f64),
                number::bytes(*of as f64)
            ),
            Progress::Checking => "checking references and unique values".into(),
            Progress::Writing {
                structure,
                number,
                of,
            } => format!("writing {structure} ({number} of {of})"),
            Progress::Finishing => FINISHING.into(),
            _ => return,
        };
        self.say(&text);
    }

    fn say(&mut self, text: &str) {
        let pause = std::time::Duration::from_secs(5);
        if self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        self.last = Some(Instant::now());
        // Whether progress can be shown does not matter to the work.
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Clears the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn draw(bar: &ProgressBar, progress: &Progress, start: Instant) {
    match progress {
        Progress::Reading {
            file,
            rows,
            bytes,
            of,
        } => {
            let rate = *rows as f64 / start.elapsed().as_secs_f64().max(0.001);
            let message = format!("{rows} rows, {rate:.0} rows/s, {file}");
            put(bar, READING, (*bytes, *of), message);
        }
        Progress::Checking => {
            steps(
                bar,
                1,
                1,
                "checking references and unique values".to_owned(),
            );
        }
        Progress::Writing {
            structure,
            number,
            of,
        } => steps(bar, *number, *of, format!("writing {structure}")),
        Progress::Finishing => steps(bar, 1, 1, FINISHING.to_owned()),
        _ => {}
    }
}

fn steps(bar: &ProgressBar, step: usize, of: usize, message: String) {
    put(bar, STEPS, (step as u64 - 1, of as u64), message);
}

fn put(bar: &ProgressBar, template: &str, (position, length): (u64, u64), message: String) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_length(length);
    bar.set_position(position);
    bar.set_message(message);
    // Whatever is set draws the bar: it is shown once it has its label and its length.
    if bar.is_hidden() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.tick();
    }
}

/// What a load does last.
const FINISHING: &str = "putting it in place";
/// Bytes of files, then rows.
const READING: &str = "reading {bar:20} {bytes} of {total_bytes}, {msg}";
/// Structures.
const STEPS: &str = "{msg} {bar:20} {pos} of {len}";
