//! Tests of the parser: what it reads, what it says about mistakes, and that nothing overwhelms it.

use crate::ast::{DeclarationKind, Expr, ExprKind, StatementKind, TypeKind};
use crate::source::MemorySources;
use crate::{ParseOptions, ParsedProgram, parse_text, render};

fn parse(text: &str) -> ParsedProgram {
    let provider = MemorySources::new();
    parse_text("test.p4", text.to_string(), &ParseOptions::new(&provider))
}

fn accept(text: &str) -> ParsedProgram {
    let parsed = parse(text);
    let messages = render::render_all(&parsed.diagnostics, &parsed.sources);
    assert!(parsed.diagnostics.is_empty(), "{text}\n{messages}");
    parsed
}

/// The codes and lines of all messages.
fn messages(text: &str) -> Vec<(&'static str, u32)> {
    let parsed = parse(text);
    let line = |span| parsed.sources.location(span).map_or(0, |location| location.line);
    parsed
        .diagnostics
        .iter()
        .map(|one| (one.code.as_str(), line(one.primary.span)))
        .collect()
}

/// An expression with all its operators in parentheses.
fn shape(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Int(literal) => literal.value.to_string(),
        ExprKind::Name(name) => name.ident.name.clone(),
        ExprKind::Type(ty) => match &ty.kind {
            TypeKind::Named { name, args } if args.is_empty() => name.ident.name.clone(),
            TypeKind::Named { name, args } => format!("{}<{}>", name.ident.name, args.len()),
            kind => format!("{kind:?}"),
        },
        ExprKind::Member { base, member } => format!("{}.{}", shape(base), member.name),
        ExprKind::Index { base, index } => format!("{}[{}]", shape(base), shape(index)),
        ExprKind::Slice { base, hi, lo } => format!("{}[{}:{}]", shape(base), shape(hi), shape(lo)),
        ExprKind::PlusSlice { base, lo, width } => format!("{}[{}+:{}]", shape(base), shape(lo), shape(width)),
        ExprKind::Unary { op, operand } => format!("({op:?} {})", shape(operand)),
        ExprKind::Binary { first, links } => links.iter().fold(shape(first), |left, link| {
            format!("({left} {:?} {})", link.op, shape(&link.right))
        }),
        ExprKind::Ternary {
            condition,
            then_value,
            else_value,
        } => {
            format!("({} ? {} : {})", shape(condition), shape(then_value), shape(else_value))
        }
        ExprKind::Cast { operand, .. } => format!("(cast {})", shape(operand)),
        ExprKind::Call {
            callee,
            type_args,
            args,
        } => {
            let args: Vec<String> = args.iter().map(|arg| shape(&arg.value)).collect();
            let types = if type_args.is_empty() {
                String::new()
            } else {
                format!("<{}>", type_args.len())
            };
            format!("{}{types}({})", shape(callee), args.join(", "))
        }
        ExprKind::List { elements, has_default } => {
            let elements: Vec<String> = elements.iter().map(shape).collect();
            format!("{{{}{}}}", elements.join(", "), if *has_default { ", ..." } else { "" })
        }
        ExprKind::Struct { fields, .. } => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}={}", name.name, shape(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        kind => format!("{kind:?}"),
    }
}

fn expression(text: &str) -> String {
    let parsed = accept(&format!("struct T {{}} struct G<A> {{}} const bit x = {text};"));
    match &parsed.program.declarations[2].kind {
        DeclarationKind::Constant(constant) => shape(&constant.value),
        kind => format!("{kind:?}"),
    }
}

#[test]
fn operators_bind_as_specified() {
    assert_eq!(
        expression("a + b * c << 2 == d & e"),
        "(((a Add (b Mul c)) Shl 2) Eq (d BitAnd e))"
    );
    assert_eq!(expression("a || b && c == d"), "(a Or (b And (c Eq d)))");
    assert_eq!(
        expression("-a.b[3:1] ++ ~c"),
        "((Negate a.b[3:1]) Concat (Complement c))"
    );
    assert_eq!(expression("a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
    assert_eq!(expression("a >> b > c"), "((a Shr b) Gt c)");
    assert_eq!(expression("a |+| b |-| c"), "((a SatAdd b) SatSub c)");
    assert_eq!(expression("a[i +: 4]"), "a[i+:4]");
    assert_eq!(expression("(bit<8>) a + (T) b"), "((cast a) Add (cast b))");
}

#[test]
fn types_and_values_are_told_apart() {
    assert_eq!(expression("a < b"), "(a Lt b)");
    assert_eq!(expression("a < b > (c)"), "((a Lt b) Gt c)");
    assert_eq!(expression("a<T>(c)"), "a<1>(c)");
    assert_eq!(expression("f<bit<8>, G<bit<(1 > 0 ? 2 : 3)>>>(c)"), "f<2>(c)");
    assert_eq!(expression("T.x + .T.y"), "(T.x Add T.y)");
    assert_eq!(expression("G<_>(a)"), "G<1>(a)");
    assert_eq!(expression("(T) (a) + (b)"), "((cast a) Add b)");
    assert_eq!(expression("error.NoError == e"), "(Error.NoError Eq e)");
    assert_eq!(
        expression("{a, {b = 1, c = {#}}, ...}"),
        "{a, {b=1, c=InvalidHeader}, ...}"
    );
    assert_eq!(expression("f(x = 1, _)"), "f(1, DontCare)");
    assert_eq!(expression("apply.key.type.list.state"), "apply.key.type.list.state");
}

#[test]
fn type_names_follow_scopes() {
    accept("typedef bit<8> T; void f(in bit<8> T) { bit<8> x = T; x = (T); }");
    accept("extern E<T> { E(T x); T get<U>(in U u); abstract T f(in T t); }");
    accept("T f<T>(in T x) { return x; } const bit<8> y = f<bit<8>>(1);");
    accept("extern register; extern register<T> { register(bit<32> size); }");
}

#[test]
fn declarations_are_read() {
    accept("error { A, B } match_kind { exact, lpm, } enum E { X, Y, } enum bit<8> F { Z = 1, } ;");
    accept(
        "typedef struct S { bit a; } U; type bit<9> P; header H<T> { T f; varbit<(8 * 4)> v; } header_union X { H<bit> h; }",
    );
    accept("@a @b(x \" y\" (1) ') @c[1, 2] @d[k = \"v\"] @e[] const bit<8>[4] a = {1, ...};");
    accept("@pragma note a ' b\nconst bit x = 1;");
    accept("control C(in bit a)(bit b = 1, @optional bit c) { action f(inout bit x, bit y) {} apply { f(a, 1); } }");
    accept("package P<T>(T t); extern void g(); struct S { tuple<bit, list<bool>> t; bit<8> x[3]; }");
    accept("extern V { V(); abstract bit f(); } V() v = { bit f() { return 1; } V() inner; };");
}

#[test]
fn parsers_are_read() {
    let text = "parser p(in bit<8> a, out bit<8> b)() {
        value_set<tuple<bit<8>, bit<8>>>(4) vs; const bit<8> c = 1; bit<8> v = 2;
        @name(\"s\") state start {
            v = a; { v = 1; } if (v == 1) { v = 3; }
            transition select(a, v) {
                (1, 2): next; (1 &&& 2, 3 .. 4): next; (_, default): next; vs: next; _: reject; default: accept;
            }
        }
        state next { transition accept; }
        state last { }
    }
    parser q<T>(in T t);";
    let parsed = accept(text);
    let DeclarationKind::Parser(parser) = &parsed.program.declarations[0].kind else {
        panic!("not a parser")
    };
    let body = parser.body.as_ref().unwrap();
    assert_eq!((body.locals.len(), body.states.len()), (3, 3));
    assert!(body.states[2].transition.is_none());
    accept(
        "parser p(in bit<8> a) { state start { transition select(a) { (1 &&& 2): accept; (1): accept; (1) + 1: accept; } } }",
    );
}

#[test]
fn tables_are_read() {
    accept(
        "control c(in bit<8> a) {
        action f(bit<8> x) {}
        table t {
            key = { a : exact @name(\"a\"); a + 1 : ternary; }
            actions = { f; @tableonly .f(); f(a); }
            const entries = { const priority = 10: (1, _) : f(2) @n; priority = (1 + 2) : 3 .. 4 : f(1); default : f(0); }
            @x const default_action = f(1);
            size = 1024; largest_priority_wins = false; priority = 1; state = 2;
        }
        apply { switch (t.apply().action_run) { f: { } g: default: { } } }
    }",
    );
}

#[test]
fn statements_are_read() {
    accept(
        "control d() { apply {} }
        control c(inout bit<8> a) {
        d() inst;
        apply {
            @atomic { a = 1; } ; const bit<8> k = 1; bit<8> z;
            for (bit<8> i = 0, bit<8> j = 1; i < 3; i = i + 1, j += 2) { if (i == 2) break; else continue; }
            @unroll for (bit<8> i in 1 .. 4) a = i;
            for (@x bit<8> i in {1, 2}) { a += i; }
            a += 1; a >>= 1; a <<= 2; a |+|= 1; a[3:0] = 4; a[0 +: 2] = 1; (a) = 2;
            d.apply(); inst.apply(); .f<bit<8>>(a); key.x = 1; f<T>(x);
            if (inst.apply().hit) { return; } else if (true) exit; else { }
        }
    }",
    );
    let parsed = accept("control d() { apply {} } control c() { apply { d.apply(); } }");
    let DeclarationKind::Control(control) = &parsed.program.declarations[1].kind else {
        panic!("not a control")
    };
    let statements = &control.body.as_ref().unwrap().apply.statements;
    assert!(matches!(statements[0].kind, StatementKind::DirectApply { .. }));
}

#[test]
fn mistakes_are_reported_where_they_are() {
    assert_eq!(messages("struct S {\n bit a\n bit b;\n}"), [("E0102", 2)]);
    assert_eq!(messages("const Foo x = 1;\nconst Foo y = 2;"), [("E0106", 1)]);
    assert_eq!(messages("bit x;"), [("E0114", 1)]);
    assert_eq!(
        messages("control c() { apply {\n a + ;\n b = ;\n c(; } }\nfoo"),
        [("E0109", 2), ("E0108", 3), ("E0108", 4), ("E0104", 5)]
    );
    assert_eq!(
        messages("control c() { apply {\n if (a = 1) { }\n x = {1, b = 2};\n y;\n } }"),
        [("E0101", 2), ("E0101", 3), ("E0110", 4)]
    );
    assert_eq!(messages("control c() {\n bit x;\n}"), [("E0116", 1)]);
    assert_eq!(
        messages("control c() { apply { if (true) {\n}\ncontrol d() { apply {} }"),
        [("E0103", 3)]
    );
    assert_eq!(messages("parser p() {\n bit x; }"), [("E0117", 1)]);
    assert_eq!(messages("const bit table = 1;"), [("E0111", 1)]);
    assert_eq!(messages("}"), [("E0103", 1)]);
    assert_eq!(messages("const bit x = 8wq;"), [("E0004", 1)]);
    assert_eq!(messages("contrl c() { apply {} }"), [("E0120", 1)]);
}

#[test]
fn macros_are_named_in_messages() {
    let parsed = parse("#define BAD 1 +\nconst bit x = BAD ;\n#define SEMI }\nstruct S SEMI\n");
    let secondary = |index: usize| &parsed.diagnostics.iter().nth(index).unwrap().secondary;
    assert!(secondary(1)[0].text.contains("SEMI"), "{:?}", parsed.diagnostics);
}

#[test]
fn deep_nesting_is_stopped() {
    let statement = |text: String| format!("control c() {{ apply {{ {text} }} }}");
    let deep = 20_000;
    let inputs = [
        format!("const bit x = {}1{};", "(".repeat(deep), ")".repeat(deep)),
        format!("const bit x = {}1;", "-".repeat(deep).replace("--", "- -")),
        format!("const bit x = {}1;", "(bit<8>) ".repeat(deep)),
        format!("const bit x = a{};", ".b".repeat(deep)),
        format!("const bit x = a{};", "[1]".repeat(deep)),
        format!("const bit x = {}1{};", "{".repeat(deep), "}".repeat(deep)),
        format!("const bit x = {}1{};", "a ? ".repeat(deep), ": 1".repeat(deep)),
        format!("const bit x = {}1;", "a ? 1 : ".repeat(deep)),
        format!("const bit x = {}1{};", "f(".repeat(deep), ")".repeat(deep)),
        format!("const {}bit{} x = 1;", "tuple<".repeat(deep), ">".repeat(deep)),
        format!("const bit{} x = 1;", "[1]".repeat(deep)),
        format!("const bit<{}1{}> x = 1;", "(bit<".repeat(deep), ">)".repeat(deep)),
        format!(
            "extern E {{ E(); }} E() e = {}{};",
            "{ E() e = ".repeat(deep),
            "}".repeat(deep)
        ),
        statement(format!("{}{}", "{".repeat(deep), "}".repeat(deep))),
        statement(format!("{} ;", "if (a) ".repeat(deep))),
        statement(format!("{} ;", "if (a) ; else for (bit i in a) ".repeat(deep))),
        statement(format!("{} ;", "for (bit i in a) ".repeat(deep))),
        statement(format!("{}{}", "switch (a) { 1: {".repeat(deep), "}}".repeat(deep))),
        format!("{}1{}", "@a[".repeat(deep), "]".repeat(deep)),
    ];
    for input in inputs {
        let parsed = parse(&input);
        let first = parsed.diagnostics.iter().next();
        assert!(parsed.diagnostics.has_errors(), "{}", &input[..60]);
        assert!(
            first.is_some_and(|one| matches!(one.code.as_str(), "E0902" | "E0108")),
            "{} {first:?}",
            &input[..60]
        );
    }
}

#[test]
fn what_is_within_the_limit_is_accepted() {
    let half = super::NESTING_LIMIT - 10;
    accept(&format!("const bit x = {}1{};", "(".repeat(half), ")".repeat(half)));
}

#[test]
fn chains_do_not_nest() {
    let long = 100_000;
    accept(&format!("const bit x = 1{};", " + 1".repeat(long)));
    accept(&format!("const bool x = a{};", " || a == 1 && b".repeat(long)));
    let links = "if (a) {} else ".repeat(long);
    accept(&format!("control c() {{ apply {{ {links} {{}} }} }}"));
}
