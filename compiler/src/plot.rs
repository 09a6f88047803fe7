//! A plot of points on two logarithmic axes, as SVG.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 620.0;
/// Left, top, right and bottom of where points may be.
const FRAME: (f64, f64, f64, f64) = (72.0, 48.0, 590.0, 560.0);
/// Told apart by people who see colours differently too.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#444444",
];

/// What is plotted.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Above it.
    pub title: String,
    /// Name of the horizontal axis.
    pub x: String,
    /// Name of the vertical axis.
    pub y: String,
    /// Names of the series, one colour each.
    pub series: Vec<String>,
    /// What filled points are, and what hollow ones are, where there are both.
    pub kinds: Option<[String; 2]>,
    /// What the points are to each other.
    pub like: Like,
    /// The points, those of a series in its order. Only what is above 0 and finite on both axes is shown.
    pub points: Vec<Point>,
}

/// What the points of a plot are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like {
    /// Both axes say the same of a point: they are alike, with a line where both are equal.
    Equals,
    /// Each series is a curve.
    Curves,
}

/// One point.
#[derive(Clone, Debug)]
pub struct Point {
    /// From left to right.
    pub x: f64,
    /// From bottom to top.
    pub y: f64,
    /// Its series, by position.
    pub series: usize,
    /// The second kind.
    pub hollow: bool,
    /// Shown when it is pointed at.
    pub label: String,
}

/// The powers of ten that an axis goes from and to.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Axis {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        if high <= 0.0 {
            return Axis {
                low: 0.0,
                high: 1.0,
            };
        }
        let low = low.log10().floor();
        Axis {
            low,
            high: high.log10().ceil().max(low + 1.0),
        }
    }

    fn share(self, value: f64) -> f64 {
        (value.log10() - self.low) / (self.high - self.low)
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        (self.low as i32..=self.high as i32).map(|power| 10f64.powi(power))
    }
}

impl Plot {
    /// The plot as SVG: the same for the same points.
    pub fn svg(&self) -> String {
        let seen = |n: f64| n > 0.0 && n.is_finite();
        let shown = self.points.iter().filter(|p| seen(p.x) && seen(p.y));
        let shown: Vec<&Point> = shown.collect();
        let (xs, ys) = (shown.iter().map(|p| p.x), shown.iter().map(|p| p.y));
        let (across, up) = match self.like {
            Like::Equals => {
                let both = Axis::of(xs.chain(ys));
                (both, both)
            }
            Like::Curves => (Axis::of(xs), Axis::of(ys)),
        };
        let (left, top, right, bottom) = FRAME;
        let x_at = |x: f64| left + across.share(x) * (right - left);
        let y_at = |y: f64| bottom - up.share(y) * (bottom - top);
        let mut out = String::new();
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
             <text x=\"{left}\" y=\"28\" font-size=\"16\">{}</text>",
            escaped(&self.title)
        );
        for value in across.ticks() {
            let (x, below) = (x_at(value), bottom + 18.0);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#dddddd\"/>\n\
                 <text x=\"{x:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{value}</text>"
            );
        }
        for value in up.ticks() {
            let (y, before) = (y_at(value), left - 8.0);
            let _ = writeln!(
                out,
                "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#dddddd\"/>\n\
                 <text x=\"{before:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                y + 4.0
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(left, right),
            bottom + 42.0,
            escaped(&self.x),
            f64::midpoint(top, bottom),
            escaped(&self.y)
        );
        match self.like {
            Like::Equals => {
                let _ = writeln!(
                    out,
                    "<path d=\"M{left} {bottom}L{right} {top}\" stroke=\"#999999\" \
                     stroke-dasharray=\"5 4\"/>"
                );
            }
            Like::Curves => {
                for series in 0..self.series.len() {
                    let own = shown.iter().filter(|p| p.series == series);
                    let own = own.map(|p| format!("{:.1},{:.1}", x_at(p.x), y_at(p.y)));
                    let _ = writeln!(
                        out,
                        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
                        own.collect::<Vec<_>>().join(" "),
                        colour(series)
                    );
                }
            }
        }
        for p in &shown {
            let _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" {}><title>{}: {:.3}, {:.3}</title></circle>",
                x_at(p.x),
                y_at(p.y),
                ink(colour(p.series), p.hollow),
                escaped(&p.label),
                p.x,
                p.y
            );
        }
        self.legend(&mut out);
        out.push_str("</svg>\n");
        out
    }

    fn legend(&self, out: &mut String) {
        let (_, top, right, _) = FRAME;
        let mut entries: Vec<(String, &str)> = vec![];
        for (series, name) in self.series.iter().enumerate() {
            entries.push((ink(colour(series), false), name));
        }
        if let Some([filled, hollow]) = &self.kinds {
            entries.push((ink("#777777", false), filled));
            entries.push((ink("#777777", true), hollow));
        }
        for (at, (ink, text)) in entries.into_iter().enumerate() {
            let y = top + 8.0 + 20.0 * at as f64;
            let _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\" {ink}/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                right + 24.0,
                right + 36.0,
                y + 4.0,
                escaped(text)
            );
        }
    }
}

fn colour(series: usize) -> &'static str {
    let found = COLOURS.get(series % COLOURS.len());
    found.copied().unwrap_or("#000000")
}

fn ink(colour: &str, hollow: bool) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_between_powers_of_ten_and_texts_are_escaped() {
        let point = |x: f64, y: f64| Point {
            x,
            y,
            series: 0,
            hollow: false,
            label: "a < b".into(),
        };
        let plot = Plot {
            title: "t".into(),
            x: "x".into(),
            y: "y".into(),
            series: vec!["s".into()],
            kinds: None,
            like: Like::Curves,
            points: vec![point(1.0, 100.0), point(10.0, 1000.0), point(0.0, 1.0)],
        };
        let svg = plot.svg();
        let (left, top, right, bottom) = FRAME;
        assert!(svg.contains(&format!(
            "points=\"{left:.1},{bottom:.1} {right:.1},{top:.1}\""
        )));
        assert_eq!(svg.matches("a &lt; b").count(), 2);
    }
}
