//! Programs rewritten without a change of meaning.
//!
//! All executors share one front end, so comparing them never finds its mistakes. A rewritten program finds them: it
//! must treat packets like the original, and have the same P4Info.
//!
//! ```text
//!   text ─► statements ─► declarations ─► names ─► literals and types ─► text
//!           parse         parse           parse    tokens
//! ```
//!
//! Each round reads the text anew, collects possible [`edits`](Edit) and makes some of them, as a seed decides:
//!
//! * [`statements`]: parentheses, exchanged branches, blocks, assignments moved into actions;
//! * [`declarations`]: neighbours that do not name each other change places;
//! * [`names`]: local variables get other names;
//! * [`tokens`]: constants, enum members and macros in place of literals, also in annotations; `typedef`s in place of
//!   types.
//!
//! What a macro may see is left alone, as are keys of tables, whose text is their name in P4Info.

mod check;
mod declarations;
mod names;
mod statements;
mod tokens;

pub use check::{Setup, check};

use forebay_syntax::ast::{Annotation, Declaration, Program};
use forebay_syntax::source::{FileId, SourceMap, SourceProvider, Span};
use forebay_syntax::token::{Interner, Token, TokenKind};
use forebay_syntax::{ParseOptions, lexer, parse_text};
use std::collections::BTreeSet;
use std::ops::Range;

/// A piece of text, and what takes its place.
pub type Edit = (Range<usize>, String);

/// A source of choices (SplitMix64).
#[derive(Clone, Debug)]
pub struct Choices(u64);

impl Choices {
    /// The choices of a seed.
    pub fn new(seed: u64) -> Choices {
        Choices(seed)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A program between two rounds.
struct Source<'a> {
    text: &'a str,
    program: &'a Program,
    /// Tokens of the program's own file, without the preprocessor's.
    tokens: Vec<Token>,
    interner: Interner,
    /// Names of macros, its own and those of included files.
    macros: BTreeSet<String>,
    /// Words of included files.
    words_elsewhere: BTreeSet<String>,
    /// Words of the preprocessor's lines of its own file.
    words_of_directives: BTreeSet<String>,
}

/// Rewrites the program `text`, which is called `path`, as a seed says.
///
/// # Errors
/// When a round makes something that the front end does not read: a mistake of the round or of the front end.
pub fn rewrite(path: &str, text: &str, setup: &Setup, seed: u64) -> Result<String, String> {
    let mut choices = Choices::new(seed);
    let rounds: [(&str, Round); 4] = [
        ("statements", statements::edits),
        ("declarations", declarations::edits),
        ("names", names::edits),
        ("literals and types", tokens::edits),
    ];
    let mut text = text.to_string();
    for (name, round) in rounds {
        text = one_round(path, &text, setup, round, &mut choices)
            .map_err(|problem| format!("before the round of {name}: {problem}\n{text}"))?;
    }
    Ok(text)
}

type Round = fn(&Source, &mut Choices) -> Vec<Edit>;

fn one_round(path: &str, text: &str, setup: &Setup, round: Round, choices: &mut Choices) -> Result<String, String> {
    let mut options = ParseOptions::new(setup.provider);
    options.include_paths = setup.include_paths;
    options.defines = setup.defines;
    let parsed = parse_text(path, text.to_string(), &options);
    if let Some(error) = parsed
        .diagnostics
        .iter()
        .find(|message| message.code.as_str().starts_with('E'))
    {
        return Err(format!("{}: {}", error.code, error.message));
    }
    let source = Source::new(text, &parsed.program, &parsed.sources);
    Ok(applied(text, round(&source, choices)))
}

/// The text with edits made; of those that overlap the one that begins first is made.
fn applied(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut from) = (String::new(), 0);
    for (range, replacement) in edits {
        if range.start < from {
            continue;
        }
        out += &text[from..range.start];
        out += &replacement;
        from = range.end;
    }
    out + &text[from..]
}

impl<'a> Source<'a> {
    fn new(text: &'a str, program: &'a Program, sources: &SourceMap) -> Source<'a> {
        let mut source = Source {
            text,
            program,
            tokens: Vec::new(),
            interner: Interner::default(),
            macros: BTreeSet::new(),
            words_elsewhere: BTreeSet::new(),
            words_of_directives: BTreeSet::new(),
        };
        for (id, file) in sources.files() {
            source.read(id, &file.text);
        }
        source
    }

    /// Takes note of a file.
    fn read(&mut self, id: FileId, text: &str) {
        let is_own = id == FileId(0);
        let mut directive: Vec<String> = Vec::new();
        let mut in_directive = false;
        for token in lexer::tokenize(id, text, &mut self.interner) {
            let word = token.kind.is_word().then(|| token.spelling(&self.interner).to_string());
            match token.kind {
                TokenKind::Hash if token.starts_line => in_directive = true,
                TokenKind::Newline | TokenKind::EndOfFile => {
                    if let ["define", name, ..] = directive.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                        self.macros.insert((*name).to_string());
                    }
                    in_directive = false;
                    directive.clear();
                    if is_own && token.kind == TokenKind::Newline {
                        self.tokens.push(token);
                    }
                }
                _ if in_directive => {
                    directive.extend(word.clone());
                    if is_own {
                        self.words_of_directives.extend(word);
                    }
                }
                _ if is_own => self.tokens.push(token),
                _ => self.words_elsewhere.extend(word),
            }
        }
    }

    /// The text of a token.
    fn spelling(&self, token: &Token) -> &str {
        token.spelling(&self.interner)
    }

    /// Whether a span is a piece of the program's own file in which no macro is used.
    fn is_plain(&self, span: Span) -> bool {
        span.file == FileId(0)
            && !self
                .words(span)
                .any(|word| self.macros.contains(word) || word == "__LINE__")
    }

    /// The tokens of a span.
    fn tokens(&self, span: Span) -> &[Token] {
        let first = self.tokens.partition_point(|token| token.span.start < span.start);
        let last = self.tokens.partition_point(|token| token.span.start < span.end);
        &self.tokens[first..last.max(first)]
    }

    /// Names and keywords in a span.
    fn words(&self, span: Span) -> impl Iterator<Item = &str> {
        let words = self.tokens(span).iter().filter(|token| token.kind.is_word());
        words.map(|token| self.spelling(token))
    }

    fn text(&self, span: Span) -> &'a str {
        &self.text[range(span)]
    }

    /// The declarations of the program's own file.
    fn declarations(&self) -> impl Iterator<Item = &'a Declaration> {
        let own = self.program.declarations.iter();
        own.filter(|declaration| declaration.span.file == FileId(0))
    }
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// A declaration with its annotations.
fn whole(annotations: &[Annotation], span: Span) -> Span {
    let start = annotations.iter().map(|annotation| annotation.span.start).min();
    Span::new(span.file, start.unwrap_or(span.start).min(span.start), span.end)
}

/// The files that programs include, with one text in place of that of a file.
struct Overlay<'a> {
    path: &'a str,
    text: &'a str,
    files: &'a dyn SourceProvider,
}

impl SourceProvider for Overlay<'_> {
    fn read(&self, path: &str) -> Option<String> {
        if path == self.path {
            Some(self.text.to_string())
        } else {
            self.files.read(path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "
struct meta_t { @field_list(3) bit<8> kept; }
const bit<8> FIRST = 8w5;
typedef bit<16> other_t;
control c(inout bit<8> x, inout meta_t m) {
    bit<8> local = 8w1;
    action one() { x = x + 8w2; }
    action two() { m.kept = local; }
    apply {
        bit<8> inner = x + 1;
        x = inner * FIRST;
        m.kept = x ++ x == 4 ? x : 9;
        if (x == 3) { one(); } else { two(); }
    }
}
";

    #[test]
    fn each_rewriting_happens() {
        let nothing = |_: &str| None;
        let setup = Setup {
            provider: &nothing,
            include_paths: &[],
            defines: &[],
        };
        let forms: Vec<String> = (0..60)
            .map(|seed| rewrite("main.p4", PROGRAM, &setup, seed).unwrap_or_else(|problem| panic!("{problem}")))
            .collect();
        for what in [
            "#define MM_MACRO_",
            "const bit<8> MM_",
            "const int MM_",
            "enum bit<8> mm_enum_",
            "typedef bit<8> mm_bit_8;",
            "@field_list(MM_MACRO",
            "@field_list((MM_",
            "@hidden action mm_c_0()",
            "mm_renamed_",
            "if (!(",
            "{ x = ",
            " = (inner * FIRST)",
        ] {
            assert!(forms.iter().any(|form| form.contains(what)), "no form has `{what}`");
        }
        let is_exchanged = |form: &String| {
            form.find("action two")
                .zip(form.find("action one"))
                .is_some_and(|(two, one)| two < one)
        };
        assert!(forms.iter().any(is_exchanged), "no declarations change places");
    }

    #[test]
    fn edits_are_made_in_order() {
        let edits = vec![
            (4..5, "x".to_string()),
            (0..1, "yy".to_string()),
            (0..3, "z".to_string()),
        ];
        assert_eq!(applied("a b c d", edits), "yy b x d");
    }
}
