//! Tokens of P4, and of its preprocessor.
//!
//! One lexer serves both. The preprocessor works on the tokens of P4 and on four more kinds that only
//! it understands (`#`, `##`, the end of a line, what could not be read), so that what it passes on needs no
//! second reading. `>>` and `>>=` are never one token: the parser joins `>` with the `>` or `>=` that stands
//! right after it where an operator is wanted, and takes them one by one where type arguments end.

use crate::source::Span;
use std::collections::HashMap;
use std::sync::Arc;

/// A piece of text, stored once in an [`Interner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

/// The texts of identifiers and literals.
#[derive(Clone, Debug)]
pub struct Interner {
    symbols: HashMap<Arc<str>, Symbol>,
    texts: Vec<Arc<str>>,
}

impl Default for Interner {
    fn default() -> Interner {
        let mut interner = Interner {
            symbols: HashMap::new(),
            texts: Vec::new(),
        };
        for (text, _) in KEYWORDS {
            interner.intern(text);
        }
        interner
    }
}

impl Interner {
    /// The symbol of a text.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(text) {
            return *symbol;
        }
        let symbol = Symbol(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.symbols.insert(text, symbol);
        symbol
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.0 as usize).map_or("", |text| text)
    }

    /// The kind of the token that a word is: a keyword, or an identifier.
    pub fn word_kind(&self, symbol: Symbol) -> TokenKind {
        KEYWORDS
            .get(symbol.0 as usize)
            .map_or(TokenKind::Identifier, |(_, kind)| *kind)
    }
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its text, for words and literals (string literals with their quotation marks).
    pub text: Symbol,
    /// Where it stands; for a token from a macro's body, where the macro is used.
    pub span: Span,
    /// Index into the preprocessor's table of macro uses, for a token from a macro's body.
    pub origin: Option<MacroUse>,
    /// Whether white space stands before it.
    pub spaced: bool,
    /// Whether it is the first token of its line.
    pub starts_line: bool,
    /// Whether the preprocessor must not expand it again.
    pub painted: bool,
}

/// Names an entry of the table of macro uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MacroUse(pub u32);

macro_rules! token_kinds {
    (
        keywords { $($(#[$keyword_doc:meta])* $keyword:ident $keyword_text:literal,)* }
        punctuation { $($(#[$mark_doc:meta])* $mark:ident $mark_text:literal,)* }
        others { $($(#[$other_doc:meta])* $other:ident $other_text:literal,)* }
    ) => {
        /// The kinds of tokens.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TokenKind {
            $(#[doc = concat!("`", $keyword_text, "`")] $keyword,)*
            $(#[doc = concat!("`", $mark_text, "`")] $mark,)*
            $($(#[$other_doc])* $other,)*
        }

        /// Every keyword with its kind; the interner gives the n-th of them the n-th symbol.
        pub const KEYWORDS: &[(&str, TokenKind)] = &[$(($keyword_text, TokenKind::$keyword),)*];

        /// Every operator and mark, longer ones before their prefixes.
        pub const PUNCTUATION: &[(&str, TokenKind)] = &[$(($mark_text, TokenKind::$mark),)*];

        impl TokenKind {
            /// The text of a keyword or mark; a description in words of any other kind.
            pub fn text(self) -> &'static str {
                match self {
                    $(TokenKind::$keyword => $keyword_text,)*
                    $(TokenKind::$mark => $mark_text,)*
                    $(TokenKind::$other => $other_text,)*
                }
            }

            /// Whether it is a keyword.
            pub fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$keyword)|*)
            }

            /// Whether it is an operator or a mark.
            pub fn is_punctuation(self) -> bool {
                matches!(self, $(TokenKind::$mark)|*)
            }
        }
    };
}

token_kinds! {
    keywords {
        Abstract "abstract",
        Action "action",
        Actions "actions",
        Apply "apply",
        Bit "bit",
        Bool "bool",
        Break "break",
        Const "const",
        Continue "continue",
        Control "control",
        Default "default",
        Else "else",
        Entries "entries",
        Enum "enum",
        Error "error",
        Exit "exit",
        Extern "extern",
        False "false",
        For "for",
        Header "header",
        HeaderUnion "header_union",
        If "if",
        In "in",
        InOut "inout",
        Int "int",
        Key "key",
        List "list",
        MatchKind "match_kind",
        Out "out",
        Package "package",
        Parser "parser",
        Priority "priority",
        Return "return",
        Select "select",
        State "state",
        String "string",
        Struct "struct",
        Switch "switch",
        Table "table",
        This "this",
        Transition "transition",
        True "true",
        Tuple "tuple",
        Type "type",
        Typedef "typedef",
        ValueSet "value_set",
        Varbit "varbit",
        Void "void",
        Underscore "_",
    }
    punctuation {
        SaturatingAddAssign "|+|=",
        SaturatingSubAssign "|-|=",
        ShiftLeftAssign "<<=",
        SaturatingAdd "|+|",
        SaturatingSub "|-|",
        Mask "&&&",
        Dots "...",
        Invalid "{#}",
        Range "..",
        ShiftLeft "<<",
        AndAnd "&&",
        OrOr "||",
        EqualEqual "==",
        NotEqual "!=",
        GreaterEqual ">=",
        LessEqual "<=",
        PlusPlus "++",
        PlusAssign "+=",
        MinusAssign "-=",
        StarAssign "*=",
        SlashAssign "/=",
        PercentAssign "%=",
        AmpersandAssign "&=",
        PipeAssign "|=",
        CaretAssign "^=",
        PlusColon "+:",
        Plus "+",
        Minus "-",
        Star "*",
        Slash "/",
        Percent "%",
        Pipe "|",
        Ampersand "&",
        Caret "^",
        Tilde "~",
        LeftParen "(",
        RightParen ")",
        LeftBracket "[",
        RightBracket "]",
        LeftBrace "{",
        RightBrace "}",
        LeftAngle "<",
        RightAngle ">",
        Not "!",
        Colon ":",
        Comma ",",
        Question "?",
        Dot ".",
        Assign "=",
        Semicolon ";",
        At "@",
        HashHash "##",
        Hash "#",
    }
    others {
        /// A name.
        Identifier "a name",
        /// An integer literal, or what looks like one.
        Integer "an integer",
        /// A string literal with its quotation marks.
        StringLiteral "a string",
        /// `@pragma`, which is an annotation up to the end of its line.
        Pragma "`@pragma`",
        /// The end of a `@pragma` line.
        EndOfPragma "the end of the line",
        /// The end of a line (seen by the preprocessor only).
        Newline "the end of the line",
        /// A character that no token begins with.
        Unknown "an unknown character",
        /// A string literal without its second quotation mark.
        UnterminatedString "an unterminated string",
        /// A comment without its end.
        UnterminatedComment "an unterminated comment",
        /// The end of the program.
        EndOfFile "the end of the file",
    }
}

impl TokenKind {
    /// Whether the preprocessor sees an identifier: a name or a keyword of P4.
    pub fn is_word(self) -> bool {
        self == TokenKind::Identifier || self.is_keyword()
    }
}

impl Token {
    /// The token as it was written.
    pub fn spelling<'a>(&self, interner: &'a Interner) -> &'a str {
        match self.kind {
            TokenKind::Pragma => "@pragma",
            kind if kind.is_keyword() || kind.is_punctuation() => kind.text(),
            TokenKind::EndOfFile | TokenKind::EndOfPragma | TokenKind::Newline => "",
            _ => interner.text(self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_have_the_first_symbols() {
        let mut interner = Interner::default();
        let table = interner.intern("table");
        let name = interner.intern("tables");
        assert_eq!(interner.word_kind(table), TokenKind::Table);
        assert_eq!(interner.word_kind(name), TokenKind::Identifier);
        assert_eq!(interner.text(name), "tables");
    }

    #[test]
    fn marks_stand_before_their_prefixes() {
        for (index, (text, _)) in PUNCTUATION.iter().enumerate() {
            for (earlier, _) in &PUNCTUATION[..index] {
                assert!(!text.starts_with(earlier), "{earlier} hides {text}");
            }
        }
    }
}
