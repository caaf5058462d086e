//! Tests of the preprocessor: text in, spelling of the tokens out.

use super::*;
use crate::source::MemorySources;

fn run_with(files: MemorySources, text: &str, defines: &[&str]) -> (String, Diagnostics) {
    let search = SourceSearch {
        provider: &files,
        include_paths: &[],
    };
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let main = sources.add("main.p4", text.to_string(), None);
    let defines: Vec<String> = defines.iter().map(|define| define.to_string()).collect();
    let result = preprocess(main, &defines, &search, &mut sources, &mut diagnostics);
    let words: Vec<&str> = result
        .tokens
        .iter()
        .map(|token| token.spelling(&result.interner))
        .collect();
    (words.join(" ").trim_end().to_string(), diagnostics)
}

fn expand(text: &str) -> String {
    let (out, diagnostics) = run_with(MemorySources::new(), text, &[]);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    out
}

fn codes_of(text: &str) -> Vec<&'static str> {
    let (_, diagnostics) = run_with(MemorySources::new(), text, &[]);
    diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect()
}

#[test]
fn an_empty_argument_joins_nothing_with_what_stands_before_it() {
    assert_eq!(
        expand("#define D(p, n) a p##n\nD(, x) D(b, x) D(b, ) D(, )"),
        "a x a bx a b a"
    );
    assert_eq!(
        expand("#define C(a, b, c) x a##b##c\nC(, , v) C(, u, ) C(q, , r)"),
        "x v x u x qr"
    );
    assert_eq!(expand("#define S(x) #x\n#define T(p, n) S(a p##n)\nT(, x)"), r#""a x""#);
}

#[test]
fn macros_expand() {
    assert_eq!(expand("#define A B + 1\n#define B 2\nA;"), "2 + 1 ;");
    assert_eq!(
        expand("#define F(x, y) x - y\nF(1, (2, 3)) F\n(a, b) F"),
        "1 - ( 2 , 3 ) a - b F"
    );
    assert_eq!(expand("#define A A B\n#define B A\nA"), "A A");
    assert_eq!(expand("#define f(x) g(x)\n#define g(x) f(x) 1\nf(2)"), "f ( 2 ) 1");
    assert_eq!(
        expand("#define P(a, b) a##b\nP(8w, 0xff) P(x, y) P(, z) P(a., b)"),
        "8w0xff xy z a . b"
    );
    assert_eq!(expand("#define S(x) #x\nS(a + \"b\")"), r#""a + \"b\"""#);
    assert_eq!(
        expand("#define V(a, ...) a: __VA_ARGS__ ;\nV(1) V(1, 2, 3)"),
        "1 : ; 1 : 2 , 3 ;"
    );
    assert_eq!(
        expand("#define L(f, ...) g(f, ## __VA_ARGS__)\nL(1) L(1, 2)"),
        "g ( 1 ) g ( 1 , 2 )"
    );
    assert_eq!(expand("#define E() x\nE() E( ) E"), "x x E");
    assert_eq!(expand("#define table foo\ntable\n#undef table\ntable"), "foo table");
}

#[test]
fn conditions_choose_text() {
    assert_eq!(expand("#if 1 + 1 == 2 && !defined X\na\n#else\nb\n#endif"), "a");
    assert_eq!(
        expand("#define V 20200408\n#if V >= 20200408\na\n#elif 1/0\nb\n#endif"),
        "a"
    );
    assert_eq!(
        expand("#if 0\na\n#if 1\nb\n#endif\n#elif defined(Q) || 0x10 >> 2 == 4\nc\n#else\nd\n#endif"),
        "c"
    );
    assert_eq!(expand("#ifdef X\n#error no\n'\n#else\ny\n#endif"), "y");
    assert_eq!(
        expand("#if 0 && 1 / 0\n#endif\n#if (1 ? 2 : 1 / 0) == 2\nok\n#endif"),
        "ok"
    );
}

#[test]
fn options_define_macros() {
    let (out, diagnostics) = run_with(MemorySources::new(), "A B", &["A", "B=x y"]);
    assert_eq!((out.as_str(), diagnostics.len()), ("1 x y", 0));
    let (_, diagnostics) = run_with(MemorySources::new(), "", &["1A=2"]);
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn files_are_included_with_guards() {
    let files = MemorySources::new()
        .with("a.p4", "#ifndef A\n#define A\n#include \"b.p4\"\na\n#endif\n")
        .with("b.p4", "#include \"a.p4\"\nb");
    let (out, diagnostics) = run_with(files, "#define NAME \"a.p4\"\n#include NAME\n#include \"a.p4\"\nc", &[]);
    assert_eq!((out.as_str(), diagnostics.len()), ("b a c", 0));
}

#[test]
fn files_with_pragma_once_are_read_once() {
    let text = "#pragma once\n#include \"sub/b.p4\"\na";
    let files = MemorySources::new()
        .with("a.p4", text)
        .with("link.p4", text)
        .with("sub/b.p4", "#pragma once // a guard\n#include \"../a.p4\"\nb")
        .with("other.p4", "#pragma other\n#if 0\n#pragma once\n#endif\no");
    let includes = ["a", "sub/../a", "sub/b", "link", "other", "other"];
    let main: String = includes
        .iter()
        .map(|name| format!("#include \"{name}.p4\"\n"))
        .collect();
    let (out, diagnostics) = run_with(files, &main, &[]);
    assert_eq!((out.as_str(), diagnostics.len()), ("b a o o", 0));
}

#[test]
fn endless_includes_are_stopped() {
    let files = MemorySources::new().with("a.p4", "#include \"a.p4\"\n#include \"a.p4\"\n");
    let (_, diagnostics) = run_with(files, "#include \"a.p4\"\n", &[]);
    assert!(
        diagnostics
            .iter()
            .any(|diagnostic| diagnostic.code == codes::INCLUDE_TOO_DEEP)
    );
    assert!(diagnostics.iter().next().unwrap().notes[0].contains("a.p4 -> a.p4"));
}

#[test]
fn exponential_macros_are_stopped() {
    let mut text = String::from("#define M0 x x x x\n");
    for level in 1..40 {
        text.push_str(&format!("#define M{level} M{0} M{0} M{0}\n", level - 1));
    }
    text.push_str("M39");
    assert_eq!(codes_of(&text), ["E0901"]);
    let mut text = String::from("#define D(x) x x x x x x\n");
    text.push_str(&format!("{}1{}", "D(".repeat(60), ")".repeat(60)));
    assert_eq!(codes_of(&text), ["E0901"]);
}

#[test]
fn deep_macro_calls_are_stopped() {
    let text = format!("#define I(x) x\n{}1{}", "I(".repeat(5000), ")".repeat(5000));
    assert_eq!(codes_of(&text)[0], "E0902");
    let text = format!("#if {}1{}\n#endif", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(codes_of(&text), ["E0010"]);
}

#[test]
fn mistakes_are_reported() {
    assert_eq!(codes_of("#if 1\n"), ["E0009"]);
    assert_eq!(codes_of("#endif\n"), ["E0009"]);
    assert_eq!(codes_of("#if 1\n#else\n#else\n#endif\n"), ["E0009"]);
    assert_eq!(codes_of("#inclde \"x\"\n"), ["E0008"]);
    assert_eq!(codes_of("# a comment of another language\n"), ["W0004"]);
    assert_eq!(codes_of("#### a banner ####\n#####\n"), ["W0004"]);
    assert_eq!(codes_of("# Copyright\n#\n\n# in (Apache)\n## end\n"), ["W0004"]);
    assert_eq!(
        codes_of("# Copyright\nx\n# Licensed\n#inclde\n"),
        ["W0004", "W0004", "E0008"]
    );
    assert_eq!(codes_of("#include \"x\"\n"), ["E0005"]);
    assert_eq!(
        codes_of("#define\n#define F(1) x\n#include\n"),
        ["E0007", "E0007", "E0007"]
    );
    assert_eq!(codes_of("#define F(x) x\nF(1, 2) F("), ["E0011", "E0011"]);
    assert_eq!(codes_of("#define A 1\n#define A 1\n#define A 2\n"), ["W0003"]);
    assert_eq!(codes_of("#if 1 +\n#endif\n#if 1/0\n#endif"), ["E0010", "E0010"]);
    assert_eq!(codes_of("#error \"stop\"\n#warning careful\n"), ["E0014", "W0001"]);
    assert_eq!(codes_of("#define A ## x\n"), ["E0013"]);
    assert_eq!(codes_of("\u{201c} \"abc"), ["E0003", "E0002"]);
}

#[test]
fn branches_may_depend_on_macros() {
    let branches = "#ifdef A\na\n#elifdef B\nb\n#elifndef C\nc\n#else\nd\n#endif\n";
    assert_eq!(expand(&format!("#define A\n#define B\n{branches}")), "a");
    assert_eq!(expand(&format!("#define B\n{branches}")), "b");
    assert_eq!(expand(branches), "c");
    assert_eq!(expand(&format!("#define C\n{branches}")), "d");
    assert_eq!(codes_of("#ifdef A\n#elifdef\n#endif\n"), ["E0007"]);
}

#[test]
fn lines_are_joined_before_they_are_read() {
    assert_eq!(
        expand("#define LONG_\\\nNAME \\\n 8w\\\n3\nLONG_NAME LONG\\\n_NAME"),
        "8w3 8w3"
    );
    assert_eq!(expand("#define A \\ \t\n 1 \\\t\r\n + 2\nA"), "1 + 2");
}

#[test]
fn skipped_text_need_not_be_p4() {
    assert_eq!(expand("#if 0\nit isn't \"P4\n#else\na\n#endif\n\"b\""), "a \"b\"");
    assert_eq!(
        expand("#if 0\n#define X \"Y\n#endif\na \"b\"\n#if 0\n\"\n#endif\nc"),
        "a \"b\" c"
    );
}

#[test]
fn what_follows_a_mistake_is_not_reported() {
    assert_eq!(codes_of("#else\nx\n#endif\n"), ["E0009"]);
    assert_eq!(codes_of("#define F(a, a) a\nF(1, 2)\n"), ["E0007"]);
    assert_eq!(codes_of("gr\u{f6}\u{df}e = gr\u{f6}\u{df}e;"), ["E0003"]);
}

#[test]
fn line_directives_and_builtins() {
    assert_eq!(
        expand("__LINE__\n#line 40 \"x.p4\"\n__LINE__ __FILE__\n"),
        "1 40 \"x.p4\""
    );
    assert_eq!(expand("# 7 \"y.p4\"\n__LINE__ __FILE__"), "7 \"y.p4\"");
}

#[test]
fn pragma_lines_end() {
    let (out, _) = run_with(MemorySources::new(), "@pragma name a b\ntable", &[]);
    assert_eq!(out, "@pragma name a b  table");
}

#[test]
fn strings_on_several_lines_are_text() {
    let string = |text: &str| {
        let out = expand(text);
        let inside = out.strip_prefix("@ r ( ").and_then(|rest| rest.strip_suffix(" ) ;"));
        let lines = inside.expect("one string").lines().map(str::trim);
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("|")
    };
    assert_eq!(
        string("#define N 5\n#define F(x) x+1\n@r(\"N\n  a == N; F(2) F;\n  // N\n  'N' N 's N;\n N\");"),
        "\"N|a == 5; 2+1 F;|// N|'N' 5 's N;|5\""
    );
    assert_eq!(
        string("@r(\"\na;\n#ifdef X\nb;\n#elif 1\nc;\n  # if 0\n d;\n # endif\n#else\ne;\n#endif\nf\");"),
        "\"|a;|c;|f\""
    );
    assert_eq!(
        string("#define X\n@r(\"\na;\n#ifdef X\nb;\n#endif\n\");"),
        "\"|a;|b;|\""
    );
    assert_eq!(string("@r(\"\na;\n#define Y 7\nb == Y\n\");"), "\"|a;|b == 7|\"");
    assert_eq!(string("@r(\"\na\n#if 0\nb\");\n#else\nc\");\n#endif\n"), "\"|a|c\"");
    assert_eq!(expand("#define N 5\n@r(\"a N\");"), "@ r ( \"a N\" ) ;");
    assert_eq!(expand("#define N 5\n\"a \\\n N\" N"), "\"a \\\n N\" 5");
    assert_eq!(expand("#if 1\n\"a\n#endif\nb\" c"), "\"a\nb\" c");
    assert_eq!(codes_of("\"a\n#include <x>\nb\""), ["E0007"]);
}

#[test]
fn macros_of_the_compiler() {
    assert_eq!(expand("__p4c__ __TARGET_BMV2__"), "__p4c__ 1");
}
