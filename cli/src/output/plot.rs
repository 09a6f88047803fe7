//! A plot of points on two logarithmic axes, as SVG.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 620.0;
/// Left, top, right and bottom of where points may be.
const FRAME: (f64, f64, f64, f64) = (72.0, 48.0, 600.0, 560.0);
/// Told apart by people who see colours differently too.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#444444",
];

/// What is plotted.
pub(crate) struct Plot {
    pub(crate) title: String,
    /// Names of the axes.
    pub(crate) x: String,
    pub(crate) y: String,
    /// Names of the series, one colour each.
    pub(crate) series: Vec<String>,
    /// What filled points are, and what hollow ones are.
    pub(crate) kinds: [String; 2],
    pub(crate) points: Vec<Point>,
}

/// One point; both values are above 0.
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) series: usize,
    pub(crate) hollow: bool,
    /// Shown when it is pointed at.
    pub(crate) label: String,
}

impl Plot {
    /// The plot as SVG: the same for the same points.
    pub(crate) fn svg(&self) -> String {
        let shown = self.points.iter().filter(|p| p.x > 0.0 && p.y > 0.0);
        let shown: Vec<&Point> = shown.collect();
        let values = shown.iter().flat_map(|p| [p.x, p.y]);
        let low = values.clone().fold(f64::INFINITY, f64::min).log10();
        let high = values.fold(0.0, f64::max).log10();
        let (low, high) = if shown.is_empty() {
            (0.0, 1.0)
        } else {
            (low.floor(), high.ceil())
        };
        let (left, top, right, bottom) = FRAME;
        let share = |v: f64| (v.log10() - low) / (high - low).max(1.0);
        let at = |x: f64, y: f64| {
            (
                left + share(x) * (right - left),
                bottom - share(y) * (bottom - top),
            )
        };
        let mut out = String::new();
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
             <text x=\"{left}\" y=\"28\" font-size=\"16\">{}</text>",
            escaped(&self.title)
        );
        for power in low as i32..=high as i32 {
            let value = 10f64.powi(power);
            let (x, y) = at(value, value);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {top}V{bottom}M{left} {y:.1}H{right}\" stroke=\"#dddddd\"/>\n\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value}</text>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                bottom + 18.0,
                left - 8.0,
                y + 4.0
            );
        }
        let middle = f64::midpoint(top, bottom);
        let _ = writeln!(
            out,
            "<path d=\"M{left} {bottom}L{right} {top}\" stroke=\"#999999\" stroke-dasharray=\"5 4\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(20 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(left, right),
            bottom + 42.0,
            escaped(&self.x),
            escaped(&self.y)
        );
        for p in shown {
            let (x, y) = at(p.x, p.y);
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" {}><title>{}: {:.1}, {:.1}</title></circle>",
                ink(p.series, p.hollow),
                escaped(&p.label),
                p.x,
                p.y
            );
        }
        let mut y = top + 8.0;
        let mut entry = |ink: String, text: &str| {
            let _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\" {ink}/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                right + 24.0,
                right + 36.0,
                y + 4.0,
                escaped(text)
            );
            y += 20.0;
        };
        for (series, name) in self.series.iter().enumerate() {
            entry(ink(series, false), name);
        }
        let [filled, hollow] = &self.kinds;
        entry(String::from("fill=\"#777777\""), filled);
        entry(
            String::from("fill=\"#ffffff\" stroke=\"#777777\" stroke-width=\"2\""),
            hollow,
        );
        out.push_str("</svg>\n");
        out
    }
}

fn ink(series: usize, hollow: bool) -> String {
    let colour = COLOURS
        .get(series % COLOURS.len())
        .copied()
        .unwrap_or("#000000");
    if hollow {
        format!("fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"2\"")
    } else {
        format!("fill=\"{colour}\" fill-opacity=\"0.75\"")
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
