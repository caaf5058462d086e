//! Words to expressions: precedence climbing, from `;`, which binds least, to `!`, `-` and `::`.

use crate::token::{Placed, Token, tokens};
use crate::{Mistake, address};
use num_bigint::BigInt;
use std::ops::Range;

/// How deep expressions may nest.
const DEPTH_MAX: usize = 100;

/// An expression and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) place: Range<usize>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Bool(bool),
    Number(BigInt),
    Text(String),
    /// A key or parameter.
    Name(String),
    /// `::priority`
    Attribute(String),
    /// `key::part`
    Part(Box<Expression>, String),
    Not(Box<Expression>),
    Minus(Box<Expression>),
    Compare(Comparison, Box<[Expression; 2]>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Implies(Box<[Expression; 2]>),
}

/// Operators that compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The conditions that must all hold: the text without its outermost `;` and `&&`.
pub(crate) fn parse(text: &str) -> Result<Vec<Expression>, Mistake> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
    };
    if parser.peek() == &Token::End {
        return Err(Mistake::new(0..text.len(), "the constraint is empty"));
    }
    let all = parser.sequence()?;
    match parser.peek() {
        Token::End => Ok(outermost(all)),
        other => Err(parser.unexpected(&format!("{} does not belong here", other.show()))),
    }
}

fn outermost(expression: Expression) -> Vec<Expression> {
    match expression.kind {
        Kind::All(parts) => parts.into_iter().flat_map(outermost).collect(),
        _ => vec![expression],
    }
}

struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn place(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    fn unexpected(&self, message: &str) -> Mistake {
        Mistake::new(self.place(), message)
    }

    /// The next word. The last one, [`Token::End`], stays.
    fn next(&mut self) -> Placed {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Sign(next) if *next == sign);
        if is_next {
            self.next();
        }
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<Range<usize>, Mistake> {
        let place = self.place();
        if self.take(sign) {
            Ok(place)
        } else {
            Err(self.unexpected(&format!("expected `{sign}` before {}", self.peek().show())))
        }
    }

    /// Conditions with `;` between them, and perhaps one at the end.
    fn sequence(&mut self) -> Result<Expression, Mistake> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.unexpected(&format!("the constraint nests deeper than {DEPTH_MAX}")));
        }
        let mut parts = vec![self.implication()?];
        while self.take(";") {
            if matches!(self.peek(), Token::End | Token::Sign(")")) {
                break;
            }
            parts.push(self.implication()?);
        }
        self.depth -= 1;
        Ok(joined(parts, Kind::All))
    }

    fn implication(&mut self) -> Result<Expression, Mistake> {
        let left = self.disjunction()?;
        if !self.take("->") {
            return Ok(left);
        }
        let right = self.disjunction()?;
        if matches!(self.peek(), Token::Sign("->")) {
            return Err(self.unexpected("`->` after `->` needs parentheses"));
        }
        Ok(between(left, right, |sides| Kind::Implies(Box::new(sides))))
    }

    fn disjunction(&mut self) -> Result<Expression, Mistake> {
        let mut parts = vec![self.conjunction()?];
        while self.take("||") {
            parts.push(self.conjunction()?);
        }
        Ok(joined(parts, Kind::Any))
    }

    fn conjunction(&mut self) -> Result<Expression, Mistake> {
        let mut parts = vec![self.comparison()?];
        while self.take("&&") {
            parts.push(self.comparison()?);
        }
        Ok(joined(parts, Kind::All))
    }

    fn comparison(&mut self) -> Result<Expression, Mistake> {
        let left = self.unary()?;
        let Some(operator) = self.comparison_sign() else {
            return Ok(left);
        };
        let right = self.unary()?;
        if self.comparison_sign().is_some() {
            self.at -= 1;
            return Err(self.unexpected("a comparison of a comparison needs parentheses"));
        }
        Ok(between(left, right, |sides| Kind::Compare(operator, Box::new(sides))))
    }

    fn comparison_sign(&mut self) -> Option<Comparison> {
        let Token::Sign(sign) = self.peek() else { return None };
        let operator = match *sign {
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.next();
        Some(operator)
    }

    /// Any number of `!` and `-` before what they belong to.
    fn unary(&mut self) -> Result<Expression, Mistake> {
        let mut signs = Vec::new();
        while let Token::Sign(sign @ ("!" | "-")) = *self.peek() {
            let (_, place) = self.next();
            signs.push((sign, place));
            if signs.len() > DEPTH_MAX {
                return Err(self.unexpected(&format!("the constraint nests deeper than {DEPTH_MAX}")));
            }
        }
        let mut expression = self.projection()?;
        while let Some((sign, place)) = signs.pop() {
            let place = place.start..expression.place.end;
            let of = Box::new(expression);
            let kind = if sign == "!" { Kind::Not(of) } else { Kind::Minus(of) };
            expression = Expression { place, kind };
        }
        Ok(expression)
    }

    fn projection(&mut self) -> Result<Expression, Mistake> {
        let mut expression = self.primary()?;
        // A second `::` is a mistake, which the checker knows best.
        for _ in 0..2 {
            if !self.take("::") {
                break;
            }
            let (name, end) = self.name("the part of a key")?;
            expression = Expression {
                place: expression.place.start..end,
                kind: Kind::Part(Box::new(expression), name),
            };
        }
        Ok(expression)
    }

    fn name(&mut self, what: &str) -> Result<(String, usize), Mistake> {
        match self.next() {
            (Token::Name(name), place) => Ok((name, place.end)),
            (token, place) => Err(Mistake::new(place, format!("expected {what}, found {}", token.show()))),
        }
    }

    fn primary(&mut self) -> Result<Expression, Mistake> {
        let (token, place) = self.next();
        let kind = match token {
            Token::Number(number) => Kind::Number(number),
            Token::Text(text) => Kind::Text(text),
            Token::Name(name) if matches!(self.peek(), Token::Sign("(")) => return self.address(&name, place),
            Token::Name(name) => match name.as_str() {
                "true" => Kind::Bool(true),
                "false" => Kind::Bool(false),
                _ => Kind::Name(name),
            },
            Token::Sign("::") => {
                let (name, end) = self.name("an attribute of the entry")?;
                return Ok(Expression {
                    place: place.start..end,
                    kind: Kind::Attribute(name),
                });
            }
            Token::Sign("(") => {
                let inner = self.sequence()?;
                let end = self.expect(")")?;
                return Ok(Expression {
                    place: place.start..end.end,
                    kind: inner.kind,
                });
            }
            other => {
                return Err(Mistake::new(
                    place,
                    format!("expected a key, a number or `(`, found {}", other.show()),
                ));
            }
        };
        Ok(Expression { place, kind })
    }

    /// `ipv4('10.0.0.1')` and the like.
    fn address(&mut self, notation: &str, place: Range<usize>) -> Result<Expression, Mistake> {
        let read = address::notation(notation).ok_or_else(|| Mistake {
            options: address::NOTATIONS.map(|name| format!("`{name}('…')`")).to_vec(),
            ..Mistake::new(place.clone(), format!("there is no notation `{notation}`"))
        })?;
        self.expect("(")?;
        let (token, inner) = self.next();
        let Token::Text(text) = token else {
            return Err(Mistake::new(
                inner,
                format!("`{notation}(…)` takes an address in single quotes"),
            ));
        };
        let number = read(&text).ok_or_else(|| Mistake::new(inner, format!("`{text}` is no {notation} address")))?;
        let end = self.expect(")")?;
        Ok(Expression {
            place: place.start..end.end,
            kind: Kind::Number(number),
        })
    }
}

/// Several expressions as one; one stays itself.
fn joined(mut parts: Vec<Expression>, join: impl FnOnce(Vec<Expression>) -> Kind) -> Expression {
    let place = parts[0].place.start..parts[parts.len() - 1].place.end;
    match parts.len() {
        1 => parts.remove(0),
        _ => Expression {
            place,
            kind: join(parts),
        },
    }
}

fn between(left: Expression, right: Expression, join: impl FnOnce([Expression; 2]) -> Kind) -> Expression {
    Expression {
        place: left.place.start..right.place.end,
        kind: join([left, right]),
    }
}
