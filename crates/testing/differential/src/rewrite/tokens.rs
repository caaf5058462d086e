//! Constants, enum members and macros in place of literals, also in annotations; `typedef`s in place of types.

use super::{Choices, Edit, Source};
use forebay_syntax::ast::Signedness;
use forebay_syntax::lexer::parse_integer;
use forebay_syntax::token::{Token, TokenKind};
use std::collections::BTreeSet;

/// Annotations that take numbers.
const NUMERIC: [&str; 5] = ["field_list", "id", "priority", "max_group_size", "max_member_weight"];

/// Where a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the program itself.
    Code,
    /// In an annotation that takes numbers.
    Number,
    /// Where it must stay as it is: in another annotation, in a key, in an argument of a macro.
    Fixed,
}

impl Place {
    /// Whether names may be changed here.
    pub(super) fn is_code(self) -> bool {
        self == Place::Code
    }
}

/// The place of each token.
pub(super) fn places(source: &Source) -> Vec<Place> {
    let tokens = &source.tokens;
    let mut places = vec![Place::Code; tokens.len()];
    let kind = |index: usize| tokens.get(index).map(|token| token.kind);
    for index in 0..tokens.len() {
        let token = &tokens[index];
        let is_macro = token.kind.is_word() && source.macros.contains(source.spelling(token));
        let region = match token.kind {
            TokenKind::At => {
                let name = tokens.get(index + 1).map_or("", |name| source.spelling(name));
                let place = if NUMERIC.contains(&name) {
                    Place::Number
                } else {
                    Place::Fixed
                };
                places[index + 1..]
                    .iter_mut()
                    .take(1)
                    .for_each(|place| *place = Place::Fixed);
                group(tokens, index + 2).map(|end| (index + 2..end, place))
            }
            TokenKind::Pragma => {
                let line = tokens[index..]
                    .iter()
                    .position(|token| token.kind == TokenKind::Newline);
                Some((index..index + line.unwrap_or(tokens.len() - index), Place::Fixed))
            }
            TokenKind::Key if kind(index + 1) == Some(TokenKind::Assign) => {
                group(tokens, index + 2).map(|end| (index + 2..end, Place::Fixed))
            }
            _ if is_macro => {
                let end = group(tokens, index + 1).unwrap_or(index + 1);
                Some((index..end, Place::Fixed))
            }
            _ => None,
        };
        if let Some((region, place)) = region {
            for covered in &mut places[region] {
                if *covered != Place::Fixed {
                    *covered = place;
                }
            }
        }
    }
    places
}

/// The end of the group of brackets that begins at an index.
fn group(tokens: &[Token], start: usize) -> Option<usize> {
    use TokenKind::{LeftBrace, LeftBracket, LeftParen, RightBrace, RightBracket, RightParen};
    matches!(tokens.get(start)?.kind, LeftParen | LeftBracket | LeftBrace).then_some(())?;
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token.kind {
            LeftParen | LeftBracket | LeftBrace => depth += 1,
            RightParen | RightBracket | RightBrace => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

/// Edits for literals and types, and the declarations that they need.
pub(super) fn edits(source: &Source, choices: &mut Choices) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut declared = BTreeSet::new();
    let places = places(source);
    let tokens = &source.tokens;
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let place = places[index];
        if let (Some(ty), Place::Code) = (fixed_type(source, index), place)
            && choices.once_in(2)
        {
            let name = format!("mm_{}_{}", ty.0, ty.1);
            declared.insert(format!("typedef {}<{}> {name};", ty.0, ty.1));
            edits.push((token.span.start as usize..tokens[index + 3].span.end as usize, name));
            index += 4;
            continue;
        }
        if token.kind == TokenKind::Integer && place != Place::Fixed && choices.once_in(2) {
            let text = source.spelling(token);
            if let Some((declaration, name)) = named(text, declared.len(), choices) {
                declared.insert(declaration);
                edits.push((token.span.start as usize..token.span.end as usize, name));
            }
        }
        index += 1;
    }
    let declarations: String = declared.iter().map(|line| format!("{line}\n")).collect();
    edits.push((0..0, declarations));
    edits
}

/// `bit<N>` or `int<N>` at an index.
fn fixed_type<'a>(source: &'a Source, index: usize) -> Option<(&'a str, &'a str)> {
    let [word, open, width, close] = source.tokens.get(index..index + 4)? else {
        return None;
    };
    let is_type = matches!(word.kind, TokenKind::Bit | TokenKind::Int)
        && open.kind == TokenKind::LeftAngle
        && width.kind == TokenKind::Integer
        && close.kind == TokenKind::RightAngle;
    let digits = source.spelling(width);
    (is_type && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| (source.spelling(word), digits))
}

/// A declaration of a name for a literal, and what takes the literal's place.
fn named(text: &str, number: usize, choices: &mut Choices) -> Option<(String, String)> {
    let literal = parse_integer(text).ok()?;
    let kind = choices.below(3);
    match (literal.width, kind) {
        (_, 0) => Some((
            format!("#define MM_MACRO_{number} ({text})"),
            format!("MM_MACRO_{number}"),
        )),
        (None, _) => Some((format!("const int MM_{number} = {text};"), format!("(MM_{number})"))),
        (Some((width, sign)), kind) => {
            let bits = match sign {
                Signedness::Unsigned => literal.value.bits(),
                Signedness::Signed => literal.value.bits() + 1,
            };
            if width == 0 || bits > u64::from(width) {
                return None;
            }
            let ty = match sign {
                Signedness::Unsigned => format!("bit<{width}>"),
                Signedness::Signed => format!("int<{width}>"),
            };
            Some(match kind {
                1 => (format!("const {ty} MM_{number} = {text};"), format!("(MM_{number})")),
                _ => (
                    format!("enum {ty} mm_enum_{number} {{ value = {text} }}"),
                    format!("(({ty}) mm_enum_{number}.value)"),
                ),
            })
        }
    }
}
