//! Arithmetic on the parameters of a scenario: what may stand between `${` and `}`.
//!
//! ```text
//! choice   = compared [ "?" choice ":" choice ]
//! compared = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//! sum      = product { ("+" | "-") product }
//! product  = factor { ("*" | "/" | "%") factor }
//! factor   = "-" factor | "(" choice ")" | number | name
//!          | ("min" | "max") "(" choice "," choice ")" | "round" "(" choice ")"
//! ```
//!
//! Numbers are `f64`; a comparison is 1 when it holds and 0 when it does not. A result without a fraction is written
//! without one, so that it may stand where a whole number must.

/// Values are whole up to here.
const WHOLE_MAX: f64 = 9e15;

/// The most choices, also those in parentheses, that may stand in one another.
const DEPTH_MAX: usize = 64;

/// The text that an expression stands for. An expression that is a name alone stands for its value as it is written,
/// which need not be a number.
///
/// # Errors
/// What is wrong, in words; `value` says what is wrong with a name.
pub(crate) fn evaluate(text: &str, value: &dyn Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let text = text.trim();
    if is_name(text) {
        return value(text);
    }
    let mut reader = Reader {
        rest: text,
        depth: 0,
        value,
    };
    let number = reader.choice()?;
    reader.space();
    if !reader.rest.is_empty() {
        Err(format!("${{{text}}}: {:?} was not expected", reader.rest))
    } else if number.is_finite() {
        Ok(written(number))
    } else {
        Err(format!("${{{text}}} is no finite number"))
    }
}

fn written(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < WHOLE_MAX {
        format!("{number:.0}")
    } else {
        number.to_string()
    }
}

/// Whether a text is a name: a letter, then letters, digits and `_`.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a comparison holds.
type Comparison = fn(f64, f64) -> bool;

struct Reader<'a> {
    rest: &'a str,
    /// Choices in which it is.
    depth: usize,
    value: &'a dyn Fn(&str) -> Result<String, String>,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes a symbol if it comes next.
    fn take(&mut self, symbol: &str) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn must_take(&mut self, symbol: &str) -> Result<(), String> {
        if self.take(symbol) {
            Ok(())
        } else {
            Err(format!("`{symbol}` is missing before {:?} in an expression", self.rest))
        }
    }

    fn choice(&mut self) -> Result<f64, String> {
        if self.depth == DEPTH_MAX {
            return Err(format!(
                "an expression has more than {DEPTH_MAX} parentheses or choices in one another"
            ));
        }
        self.depth += 1;
        let number = self.choice_within()?;
        self.depth -= 1;
        Ok(number)
    }

    fn choice_within(&mut self) -> Result<f64, String> {
        let condition = self.compared()?;
        if !self.take("?") {
            return Ok(condition);
        }
        let then = self.choice()?;
        self.must_take(":")?;
        let otherwise = self.choice()?;
        Ok(if condition == 0.0 { otherwise } else { then })
    }

    fn compared(&mut self) -> Result<f64, String> {
        let left = self.sum()?;
        let operators: [(&str, Comparison); 6] = [
            ("<=", |a, b| a <= b),
            (">=", |a, b| a >= b),
            ("==", |a, b| a == b),
            ("!=", |a, b| a != b),
            ("<", |a, b| a < b),
            (">", |a, b| a > b),
        ];
        for (symbol, holds) in operators {
            if self.take(symbol) {
                let right = self.sum()?;
                return Ok(f64::from(u8::from(holds(left, right))));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut sum = self.product()?;
        loop {
            if self.take("+") {
                sum += self.product()?;
            } else if self.take("-") {
                sum -= self.product()?;
            } else {
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut product = self.factor()?;
        loop {
            if self.take("*") {
                product *= self.factor()?;
            } else if self.take("/") {
                product /= self.factor()?;
            } else if self.take("%") {
                product %= self.factor()?;
            } else {
                return Ok(product);
            }
        }
    }

    fn factor(&mut self) -> Result<f64, String> {
        let mut sign = 1.0;
        while self.take("-") {
            sign = -sign;
        }
        Ok(sign * self.factor_without_sign()?)
    }

    fn factor_without_sign(&mut self) -> Result<f64, String> {
        if self.take("(") {
            let inside = self.choice()?;
            self.must_take(")")?;
            return Ok(inside);
        }
        self.space();
        let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.');
        let (word, rest) = self.rest.split_at(self.rest.find(end).unwrap_or(self.rest.len()));
        self.rest = rest;
        match word {
            "" => Err(format!(
                "a number or the name of a parameter is missing before {rest:?}"
            )),
            "min" => self.of_two(f64::min),
            "max" => self.of_two(f64::max),
            "round" => {
                self.must_take("(")?;
                let number = self.choice()?;
                self.must_take(")")?;
                Ok(number.round())
            }
            name if is_name(name) => {
                let text = (self.value)(name)?;
                text.trim()
                    .parse()
                    .map_err(|_| format!("{name} is {text:?}, which is no number to compute with"))
            }
            number => {
                let plain = number.replace('_', "");
                plain.parse().map_err(|_| format!("{number:?} is no number"))
            }
        }
    }

    fn of_two(&mut self, function: fn(f64, f64) -> f64) -> Result<f64, String> {
        self.must_take("(")?;
        let first = self.choice()?;
        self.must_take(",")?;
        let second = self.choice()?;
        self.must_take(")")?;
        Ok(function(first, second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String, String> {
        evaluate(text, &|name| match name {
            "N" => Ok("4".to_string()),
            "KIND" => Ok("poisson".to_string()),
            other => Err(format!("there is no parameter {other}")),
        })
    }

    #[test]
    fn arithmetic() {
        for (text, expected) in [
            ("N", "4"),
            (" KIND ", "poisson"),
            ("N - 1", "3"),
            ("2 * N + 1", "9"),
            ("2 * (N + 1)", "10"),
            ("1 / N", "0.25"),
            ("-N % 3", "-1"),
            ("N > 1 ? N : 0", "4"),
            ("N <= 1 ? N : 0 - 1", "-1"),
            ("min(N, 3) + max(1_000, N)", "1003"),
            ("114 * N", "456"),
            ("2 - --N", "-2"),
        ] {
            assert_eq!(of(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("M", "there is no parameter M"),
            ("N +", "is missing before"),
            ("N N", "was not expected"),
            ("(N", "`)` is missing"),
            ("KIND + 1", "KIND is \"poisson\", which is no number"),
            ("1 / 0", "no finite number"),
            ("min(N)", "`,` is missing"),
            ("3x", "\"3x\" is no number"),
        ] {
            let said = of(text).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        for deep in ["(", "max(1, ", "N ? 1 : "] {
            let said = of(&deep.repeat(100_000)).unwrap_err();
            assert!(said.contains("in one another"), "{said}");
        }
        assert_eq!(of(&format!("{}N", "-".repeat(100_000))).as_deref(), Ok("4"));
    }
}
