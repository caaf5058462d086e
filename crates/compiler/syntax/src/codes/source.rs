//! Codes E00xx (preprocessor, lexer), E01xx (syntax), and the limits among E09xx that stand in this crate.

use super::codes;

codes! {
    E0001 UNTERMINATED_COMMENT: "unterminated comment",
        "A comment opened with `/*` has no `*/` before the end of its file. P4 comments do not nest: the first `*/` closes the comment.";
    E0002 UNTERMINATED_STRING: "unterminated string literal",
        "A string literal must be closed with `\"` on the line on which it begins. Write `\\\"` for a quotation mark inside it.";
    E0003 UNKNOWN_CHARACTER: "character that P4 does not use",
        "The character is not part of any P4 token (P4_16 specification, lexical constructs). It may be a typographic quotation mark or dash that an editor or a web page put in place of an ASCII one.";
    E0004 INVALID_INTEGER: "malformed integer literal",
        "An integer literal is a number in base 10, 16 (`0x`), 8 (`0o`) or 2 (`0b`), with `_` allowed between digits, and may begin with a width and a sign: `8w255` is the bit<8> 255, `4s7` the int<4> 7, `16w0xFFFF` a bit<16> in hexadecimal.";
    E0005 INCLUDE_NOT_FOUND: "included file not found",
        "`#include \"x\"` looks in the folder of the including file, then in the folders given with -I, then among the library files (core.p4, v1model.p4, psa.p4); `#include <x>` skips the first step.";
    E0006 INCLUDE_TOO_DEEP: "includes nested too deeply",
        "Files include each other without end, or very deeply. Protect each file that may be included twice with an include guard: #ifndef NAME, #define NAME, ... #endif.";
    E0007 MALFORMED_DIRECTIVE: "malformed preprocessor directive",
        "The directive lacks something it needs: #define, #undef, #ifdef and #ifndef need a name, #include needs \"file\" or <file>, #line needs a number.";
    E0008 UNKNOWN_DIRECTIVE: "unknown preprocessor directive",
        "The preprocessor knows #include, #define, #undef, #if, #ifdef, #ifndef, #elif, #elifdef, #elifndef, #else, #endif, #error, #warning, #line and #pragma.";
    E0009 UNBALANCED_CONDITIONAL: "unbalanced conditional directive",
        "Every #if, #ifdef and #ifndef needs an #endif in the same file; #elif and #else must stand between them, and nothing but #endif may follow #else.";
    E0010 INVALID_CONDITION: "invalid preprocessor condition",
        "The condition of #if and #elif is an integer expression of numbers, `defined NAME`, macros, parentheses and the operators of C. Names that are not macros count as 0.";
    E0011 MACRO_ARGUMENTS: "wrong macro arguments",
        "A function-like macro must be given as many arguments as it has parameters, in balanced parentheses. A macro whose last parameter is `...` takes any number there.";
    E0013 INVALID_PASTE: "`##` at the end of a macro's body",
        "The operator `##` joins the token before it to the token after it, so it cannot stand at either end of a macro's body.";
    E0014 ERROR_DIRECTIVE: "#error directive",
        "The program reached an #error directive: its author refuses this configuration. The message says why.";
    E0015 INVALID_DEFINE_OPTION: "malformed -D option",
        "A macro is defined on the command line as NAME (meaning 1) or NAME=VALUE, where NAME is an identifier.";
    E0016 SOURCE_NOT_FOUND: "program file not found",
        "The program's file could not be read.";
    E0017 MACRO_LIKE_DECLARATION: "macro written like a declaration",
        "A macro stands for everything after its name on the line, a `=` or `;` there included: `#define SIZE = 16;` makes `bit<SIZE>` into `bit<= 16;>`. Write `#define SIZE 16`, or declare a constant: `const bit<32> SIZE = 16;`.";
    E0018 NO_COMMENT: "end of a comment that has no beginning",
        "`*/` stands outside of a comment. P4 comments do not nest: in `/* a /* b */ c */` the first `*/` ends the comment, and `c */` is program text.";
    W0001 WARNING_DIRECTIVE: "#warning directive",
        "The program reached a #warning directive; the message is its author's.";
    W0002 EXTRA_TOKENS: "extra text after a directive",
        "Text after a directive such as #endif or #else has no meaning. Put it into a comment.";
    W0003 MACRO_REDEFINED: "macro redefined differently",
        "A macro is given a second meaning while it still has the first; the second one counts from here on. Use #undef first if that is intended.";
    W0004 IGNORED_DIRECTIVE: "line that begins with `#` and is no directive",
        "A line whose first character is `#` belongs to the preprocessor. One that it does not know is left out, as p4c leaves it out; of such lines one below the other the first is reported. Comments begin with `//`.";
    W0005 BUILT_IN_INCLUDED: "built-in file in place of one of p4c's",
        "The program includes a file of p4c's folder `p4include` by a path that is not on this machine. The built-in file of that name is taken. Write the name between angle brackets, which works on every machine: `#include <v1model.p4>`.";
    E0101 UNEXPECTED_TOKEN: "unexpected token",
        "The program does not follow the grammar of P4_16 at this place. The message says what would be right here.";
    E0102 MISSING_SEMICOLON: "missing semicolon",
        "Declarations, statements, fields, table properties and transitions to a state end with `;`.";
    E0103 UNCLOSED_DELIMITER: "unclosed delimiter",
        "An opening `(`, `[`, `{` or `<` has no closing partner. The second mark shows the one left open.";
    E0104 EXPECTED_DECLARATION: "expected a declaration",
        "At the top level of a program stand declarations: const, typedef, type, header, header_union, struct, enum, error, match_kind, extern, parser, control, package, action, functions and instantiations.";
    E0105 EXPECTED_TYPE: "expected a type",
        "A type is wanted here: bit<N>, int<N>, varbit<N>, bool, int, string, error, match_kind, tuple<...>, list<T>, or the name of a declared type. A type must be declared before it is used.";
    E0106 UNKNOWN_TYPE_NAME: "type not declared",
        "P4 tells types from values by their declarations, so a type must be declared, in this file or an included one, before it is used. Check the spelling, the order of declarations and the #include lines.";
    E0107 EXPECTED_NAME: "expected a name",
        "A name is wanted here. Words that P4 reserves cannot be names, except apply, key, actions, state, entries, type, priority and list.";
    E0108 EXPECTED_EXPRESSION: "expected an expression",
        "An expression is wanted here: a literal, a name, a call, a cast, a list or structure in braces, or operators between them.";
    E0109 EXPECTED_STATEMENT: "expected a statement",
        "A statement is wanted here: an assignment, a call, if, switch, for, return, exit, break, continue or a block in braces.";
    E0110 NOT_ASSIGNABLE_SYNTAX: "not the left side of an assignment",
        "Only variables, fields, array elements and slices of them can stand on the left of an assignment, and only a call can stand alone as a statement.";
    E0111 RESERVED_WORD: "reserved word used as a name",
        "This word is a keyword of P4 and cannot name a declaration. Choose another name; the name that the control plane sees can be set with @name(\"...\").";
    E0112 INVALID_TABLE_PROPERTY: "malformed table property",
        "A table consists of properties: key = { expression : match_kind; ... }, actions = { name; ... }, entries = { ... }, and NAME = expression;. Each stands on its own, with `const` in front where it may not be changed at run time.";
    E0113 MALFORMED_ANNOTATION: "malformed annotation",
        "An annotation is @name, @name(tokens), @name[expressions] or @name[key = value, ...].";
    E0114 MISPLACED_DECLARATION: "declaration not allowed here",
        "Tables and actions are declared in controls, states and value sets in parsers, and types, parsers, controls and packages only at the top level.";
    E0115 NON_ASSOCIATIVE: "chained range or mask",
        "The operators `..` and `&&&` take two plain expressions; they cannot be chained. Put parentheses around the parts.";
    E0116 MISSING_APPLY: "control without apply",
        "A control's body ends with its apply block: apply { ... }. All the declarations of the control stand before it.";
    E0117 PARSER_WITHOUT_STATES: "parser without states",
        "A parser has at least one state, and execution begins in the state named start.";
    E0118 STATEMENT_AFTER_TRANSITION: "statement after transition",
        "A transition ends its state: no statement can follow it.";
    E0119 OLDER_LANGUAGE: "program of P4_14",
        "P4_14 is the language before P4_16: it has `header_type`, `reads` and `modify_field`. Only P4_16 is compiled. p4c translates most programs: p4test --std p4-14 --pp NEW.p4 OLD.p4.";
    E0120 MISSPELT_KEYWORD: "keyword probably misspelt",
        "The word is no keyword and names nothing, but is close to a keyword that could stand here. Keywords are written in small letters: control, parser, table, action, state, apply, transition.";
    E0901 TOO_MANY_TOKENS: "program too large after macro expansion",
        "The preprocessor stopped because its output grew beyond the limit. The usual cause is macros, or files that include themselves, that double at each step.";
    E0902 NESTING_TOO_DEEP: "nesting too deep",
        "Expressions, types, statements, blocks and macro calls may be nested up to a fixed depth, so that no program can exhaust the compiler's stack. Split the expression with variables.";
    E0903 TOO_MANY_ERRORS: "too many errors",
        "After this many errors the rest is not shown; later errors often follow from the first ones.";
    E0904 LITERAL_TOO_LONG: "integer literal too long",
        "The literal has more digits than any value that a P4 program can hold.";
    E0905 SOURCE_TOO_LARGE: "source file too large",
        "A source file may have at most 64 MiB.";
}
