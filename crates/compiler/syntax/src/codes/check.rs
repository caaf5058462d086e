//! Codes E02xx to E07xx: what the type checker reports.

use super::codes;

codes! {
    E0201 UNKNOWN_NAME: "name not declared",
        "No declaration of this name is visible here. P4 names must be declared before they are used, in this scope or one around it. Check the spelling, the order of declarations and the #include lines.";
    E0202 DUPLICATE_DECLARATION: "name declared twice",
        "Two declarations of one scope share a name. Only functions, extern functions, methods and constructors may share one, when they differ in the number or the names of their parameters.";
    E0203 NOT_A_TYPE: "not a type",
        "A type is wanted here, and the name denotes something else.";
    E0204 NOT_A_VALUE: "type used as a value",
        "The name denotes a type. A type may stand before `.member` (an enum) or before constructor arguments, but is not a value.";
    E0205 UNKNOWN_FIELD: "no such field",
        "The type of the expression before the dot has no field of this name.";
    E0206 UNKNOWN_MEMBER: "no such member",
        "The enum, the error type or the match_kind has no member of this name, or the value before the dot has no members of this kind.";
    E0207 RECURSION: "declaration refers to itself",
        "P4 has no recursion: a type cannot contain itself, a function or action cannot call itself, and a parser or control cannot instantiate itself.";
    E0208 UNKNOWN_MATCH_KIND: "match kind not declared",
        "A table key's match kind must be a member of match_kind: core.p4 declares exact, ternary and lpm, v1model adds range, optional and selector.";
    E0209 INVALID_NAME: "invalid name",
        "The name `_` means `don't care` and cannot name a declaration.";
    E0210 THIS_OUTSIDE_METHOD: "`this` outside of an abstract method",
        "`this` denotes the extern instance in the implementation of one of its abstract methods, and has no meaning elsewhere.";
    E0211 DUPLICATE_ANNOTATION: "annotation given twice",
        "A structured annotation (one with square brackets) may stand only once on a declaration.";
    E0212 INVALID_ANNOTATION: "invalid annotation",
        "The values in an annotation that has a meaning, and in one with square brackets, must be compile-time constants of type int, string or bool: literals, names of constants and of enum members, and operations on these. The message says what the annotation takes.";
    E0213 HIDDEN_PARAMETER: "variable hides a parameter",
        "A variable in a block has the name of a parameter around it, which could not be used any more. Choose another name.";
    W0204 UNUSED: "declaration that nothing uses",
        "A table that is never applied does nothing and is not in P4Info, so controllers do not find it; actions in no table, and parsers and controls without instances, are not in it either. A counter, register or another extern object that nothing uses stays in P4Info, with what a controller writes there. `@noWarn(\"unused\")` on the declaration silences the warning.";
    W0203 MISPLACED_ANNOTATION: "annotation at a place where it has no effect",
        "The annotation has a meaning, but not on a declaration of this kind, so it does nothing. The message lists where it belongs.";
    W0202 UNKNOWN_ANNOTATION: "annotation probably misspelt",
        "Annotations that are not known are allowed and have no effect. The name of this one, or of a key in it, is so close to one that has a meaning that it is probably a mistake.";
    W0201 SHADOWED_NAME: "declaration hides another",
        "The declaration has the name of another one in a scope around it, which cannot be used here any more.";

    E0301 TYPE_MISMATCH: "type mismatch",
        "The expression's type is not the one that is wanted here, and there is no implicit conversion between them. P4 converts implicitly only from int to bit<W> and int<W>, from an enum with a representation to its underlying type, and from lists to structures. Use an explicit cast `(T) e` where one exists.";
    E0302 INVALID_OPERANDS: "operator not defined on these types",
        "The operator does not exist for operands of these types. Arithmetic and bitwise operators work on bit<W>, int<W> and int; logical ones on bool; both sides must have the same type.";
    E0303 WIDTH_MISMATCH: "operands of different widths",
        "Both operands must have the same width and signedness. Cast one of them: `(bit<16>) e`.";
    E0304 INVALID_CAST: "cast not allowed",
        "P4 allows casts between bit<1> and bool, between bit<W> and int<W>, between widths of the same signedness, from int to fixed-width types, between an enum with a representation and its underlying type, and between a `type` and what it is made from. Other conversions take two casts.";
    E0305 NOT_COMPARABLE: "values cannot be compared",
        "Only values of the same type can be compared, and only of types that have an equality: numbers, bool, errors, enums, strings, and structs, headers, stacks and tuples made of them. Tables, externs and values of a type variable cannot be compared.";
    E0306 NOT_BOOLEAN: "condition is not a bool",
        "Conditions must have type bool; P4 does not convert numbers. Compare explicitly: `x != 0`.";
    E0307 INVALID_FIELD_TYPE: "field type not allowed",
        "Headers may have fields of type bit, int, varbit, bool, enum with representation and structs of these; header unions only headers; structs any data type, but no parsers, controls, externs, packages, strings or int.";
    E0308 INVALID_WIDTH: "invalid width or size",
        "The width of a bit, int or varbit and the size of a stack must be a compile-time constant: not negative, at least 1 for int<W> and within the limits of this compiler.";
    E0309 TYPE_ARGUMENTS: "wrong type arguments",
        "A generic type needs one type argument for each of its type parameters, a type without type parameters takes none; parsers, controls and packages cannot be type arguments.";
    E0310 CANNOT_INFER: "type argument cannot be inferred",
        "The type arguments of the call are found from its arguments, and these do not determine them. Give them explicitly: `f<bit<32>>(...)`.";
    E0311 WRONG_SHAPE: "wrong number of elements or fields",
        "A list expression must have one element for each field or element of what it initialises, a structure-valued expression each field exactly once; or it may end in `...` to fill in default values.";
    E0312 INVALID_INDEX: "invalid index",
        "Only stacks, arrays and tuples have elements; the index must be a number below the size, for a tuple a compile-time constant.";
    E0313 INVALID_SLICE: "invalid slice",
        "A slice `e[hi:lo]` takes bits of a bit<W> or int<W> value; hi and lo must be compile-time constants with W > hi >= lo >= 0.";
    E0314 INVALID_VARIABLE_TYPE: "variable of this type not allowed",
        "Variables hold data. Externs, parsers, controls and packages are instantiated: `T(arguments) name;`. Values of type int and string exist only at compile time: use `const`.";
    E0315 INVALID_REPRESENTATION: "invalid representation of an enum",
        "The underlying type of an enum must be bit<W> or int<W>, every member needs a value, and the value must fit.";
    E0316 INVALID_NEW_TYPE: "type cannot be introduced over this",
        "`type` makes a new type from bit<W>, int<W>, bool or another such type. Use `typedef` for a second name of any type.";
    E0317 INVALID_ELEMENT_TYPE: "element type not allowed",
        "The elements of stacks, tuples, lists and value sets must be data of a type that can be stored there.";
    E0318 UNKNOWN_WIDTH: "value without a width",
        "An integer literal without width has type int, which exists only at compile time. Give it a width here: 8w5 or (bit<8>) 5.";
    E0319 INVALID_SHIFT: "invalid shift",
        "The left operand of a shift must be a number, the right one a bit<W> or a compile-time constant that is not negative.";
    E0320 NOT_ASSIGNABLE: "not an l-value",
        "Only variables, out and inout parameters, their fields, elements and slices can be written or passed to out and inout parameters. Constants, in parameters and action data are read-only.";
    E0321 VOID_VALUE: "void has no values",
        "The call returns nothing, so it cannot be used as a value, and void is only a result type.";

    E0401 NOT_CONSTANT: "not a compile-time constant",
        "The value must be known when the program is compiled: literals, constants, constructor parameters, instances and operations on these.";
    E0402 DIVISION_BY_ZERO: "division by zero",
        "The right operand of `/` and `%` must not be zero.";
    E0403 INVALID_DIVISION: "division not defined",
        "`/` and `%` are defined on numbers that are not negative: on int, and on bit<W>, where dividing by a zero that is known only at run time gives 0. There is no division on int<W>.";
    E0404 OUT_OF_RANGE: "value out of range",
        "The value does not fit the type or the range that is allowed here.";
    E0405 STATIC_ASSERT_FAILED: "static assertion failed",
        "The condition of static_assert is false: the author of the program or of an included file refuses this configuration.";
    W0401 VALUE_TRUNCATED: "value does not fit its type",
        "The constant has more bits than the type; the bits on the left are cut off.";
    W0403 ALWAYS_THE_SAME: "comparison that has one result",
        "A `bit<W>` has no negative values: `x < 0` is never true and `x >= 0` always, also where x is a difference, which wraps around. Compare the two operands of the difference instead, or compute with int<W>.";
    W0402 SHIFT_TOO_FAR: "shift by the whole width",
        "Shifting by the width of the value or more leaves nothing of it.";

    E0501 INVALID_PARAMETER: "parameter not allowed",
        "Extern objects, strings and int cannot have a direction; constructor parameters have none; parsers, controls and packages can only be constructor parameters; actions take directional parameters before action data.";
    E0502 NO_CONSTRUCTOR: "no matching constructor",
        "The extern type has no constructor with this number of arguments and these names.";
    E0503 NOT_INSTANTIABLE: "type cannot be instantiated",
        "Only externs, parsers, controls and packages have instances. Parser and control types without a body have none.";
    E0504 MISPLACED_INSTANTIATION: "instantiation not allowed here",
        "Externs and packages are instantiated at the top level, in controls and in parsers; parsers only in parsers, controls only in controls. There are no instantiations in apply blocks, parser states, actions and functions.";
    E0505 ABSTRACT_METHODS: "abstract methods not implemented",
        "An instance of an extern with abstract methods needs a block that implements each of them with the declared parameters and result: `E() e = { void f(...) { ... } };`.";
    E0506 INVALID_MAIN: "`main` is not a package",
        "The instance named main describes the whole switch, and must be an instance of a package, such as V1Switch.";
    E0507 MISSING_RETURN: "function does not always return a value",
        "Each path through a function with a result must end in `return value;`.";
    E0508 INVALID_RETURN: "invalid return",
        "A function with a result returns a value, one that returns void none; outside of functions `return` takes no value, and parsers have no return.";
    E0509 INVALID_METHOD: "invalid method of an extern",
        "A method needs a result type; a constructor has the extern's name, no result type and parameters without directions.";
    E0510 CONTROL_PLANE_NAME: "control-plane name given twice",
        "Two objects have the same name in the control plane. Change one of the @name annotations. Two actions may share a name if they take the same data and no table has both.";
    E0511 INVALID_DEFAULT: "default value not allowed",
        "Default values must be compile-time constants; out, inout and optional parameters have none.";
    E0512 DUPLICATE_OVERLOAD: "declaration differs from an earlier one",
        "Functions, methods and constructors of the same name must differ in the number or the names of their parameters.";

    W0501 SHARED_NAME: "control-plane name of two things",
        "Two keys of a table have one name, or a table and an action, whom P4Runtime's ids still tell apart, though entries that name keys cannot; or two actions that take the same data and are in no table together, which are one to the control plane. P4_16 wants every name once.";

    E0601 TABLE_WITHOUT_ACTIONS: "table without actions",
        "Every table needs an `actions` property; the list may be empty.";
    E0602 DUPLICATE_PROPERTY: "table property given twice",
        "A table has each property once.";
    E0603 INVALID_KEY: "invalid table key",
        "A key must have a type whose values can be matched: bit<W>, int<W>, bool, error, an enum, or a `type` over one of these.";
    E0604 INVALID_ACTION_LIST: "invalid element of an action list",
        "The `actions` property lists actions. Directional parameters are bound there, action data is set by the control plane or by entries.";
    E0605 INVALID_DEFAULT_ACTION: "invalid default action",
        "The default action must be in the table's list of actions, with the same directional arguments, compile-time values for all its action data, and without @tableonly.";
    E0606 INVALID_ENTRY: "invalid table entry",
        "An entry has one keyset for each key and calls an action of the table's list with compile-time values for its action data; masks and ranges must suit the keys' match kinds.";
    E0607 NO_ACTION_MISSING: "NoAction is not declared",
        "A table without default_action runs NoAction, which core.p4 declares. Include core.p4 or give a default_action.";
    E0608 INVALID_PRIORITY: "invalid priority",
        "Priorities are compile-time constants, not negative, and only tables with a key that is neither exact nor lpm have them. `priority_delta` is a positive number, `largest_priority_wins` true or false.";
    E0609 INVALID_LABEL: "invalid label of a switch",
        "Labels are compile-time constants of the type switched on, each at most once; on action_run they name actions of the table. `default` comes last.";
    E0610 INVALID_PROPERTY: "invalid table property",
        "The value of this property must be a compile-time value of the right type, the properties that others refer to stand first, and a misspelt name is no property.";
    W0601 CONSTANT_KEY: "constant table key",
        "The key has the same value for every packet, so it distinguishes nothing.";
    W0604 REPEATED_KEY: "two entries with one key",
        "Two entries match the same packets, so the one that goes first, or has the better priority, hides the other. In a table whose keys are all exact this is an error.";
    W0603 UNKNOWN_PROPERTY: "table property that no architecture has",
        "P4 lets architectures define properties of tables beside key, actions, default_action, entries and size. This name belongs to none of v1model, PSA, PNA and p4c's other targets, so the property has no effect; it is probably misspelt.";
    W0602 DOUBTFUL_PRIORITY: "doubtful priority",
        "Two entries have one priority, so that either may win where both match; or an entry goes before the one above it. Entries are easiest to read when the first of them wins.";

    E0701 NO_START_STATE: "parser without start state",
        "Every parser begins in the state named start.";
    E0702 UNKNOWN_STATE: "state not declared",
        "A transition must go to a state of the same parser, to accept or to reject.";
    E0703 BUILT_IN_STATE: "built-in state declared",
        "The states accept and reject are built in and cannot be declared.";
    E0704 INVALID_SELECT: "invalid select",
        "select takes expressions of type bit<W>, int<W>, bool or enum, and each case has one keyset for each of them.";
    E0705 INVALID_KEYSET: "invalid keyset",
        "A keyset is a value, `value &&& mask`, `low .. high`, a value set, `_` or `default`, of the type of what it is matched against.";
    E0706 WRONG_ARGUMENTS: "wrong arguments",
        "A call gives one argument for each parameter without a default value; arguments are either all named or all positional, and each name at most once.";
    E0707 NO_MATCHING_OVERLOAD: "no matching function or method",
        "There is a function or method of this name, but none with this number of arguments and these names.";
    E0708 AMBIGUOUS_CALL: "ambiguous call",
        "Several functions or methods of this name take this number of arguments and these names; P4 does not choose by types.";
    E0709 NOT_CALLABLE: "not callable",
        "Only functions, actions, methods and `apply` can be called.";
    E0710 CALL_NOT_ALLOWED: "call not allowed here",
        "Tables and controls are applied in controls, parsers in parsers, neither in actions or functions; functions do not call actions; verify is for parsers; there are no calls in keysets.";
    E0711 STATEMENT_NOT_ALLOWED: "statement not allowed here",
        "break and continue stand in loops; return and exit not in parsers, exit not in functions; switch not in parsers and functions for tables.";
    E0712 INVALID_PACKET_ARGUMENT: "argument cannot be read from or written to a packet",
        "extract takes headers: with one argument fixed-size ones, with two one that has a varbit field. lookahead takes types of fixed size, emit headers, stacks, unions and structs or tuples of these.";
    E0713 STACK_OPERATION: "stack operation not allowed here",
        "next, last and lastIndex of a header stack belong to parsers, push_front and pop_front to controls.";
    E0714 MISSING_TRANSITION: "parser never ends",
        "From the start state neither accept nor reject can be reached.";
    W0701 UNREACHABLE_CASE: "case is never reached",
        "An earlier case matches everything, or the same value; or a range is empty, since its low end is above its high end.";

    W0702 OUT_NEVER_WRITTEN: "out parameter never written",
        "No statement writes the out parameter, so its callers get an unspecified value. Headers are an exception: they begin invalid, so they need not be written.";
    W0703 MAYBE_UNSET: "variable may be read before it is set",
        "On some path to this place the variable, or the field of a struct, has not been given a value. P4 leaves open what is read then: this switch and BMv2 give 0, chips give what was there before.";
    W0704 HEADER_IS_INVALID: "field of an invalid header",
        "On every path to this place the header is invalid: it has been declared, but not extracted, assigned or made valid by setValid(), or it has been made invalid. Reading a field of an invalid header gives an unspecified value, and writing one has no effect.";
    W0705 ENDLESS_STATE: "parser state without a way out",
        "The state leads only to itself, or to states that lead back to it. Every packet that comes there is rejected, when its data is used up or after the largest number of steps.";
    W0706 DEPRECATED: "deprecated function",
        "The function is marked with @deprecated: it still works, and the message says what to use in its place.";
    W0707 OUT_MAYBE_UNSET: "out parameter not set on every path",
        "On some path to the end the out parameter has not been given a value, so the caller gets an unspecified one.";
    W0708 IMPLICIT_REJECT: "parser state without transition",
        "A state that ends without a transition rejects the packet (P4_16 §13.5). Write `transition reject;` if that is meant.";
    W0709 UNREACHED_STATE: "parser state is never reached",
        "No transition leads from the start state to this one, directly or through others.";
    W0710 NEVER_VALID: "header that nothing makes valid",
        "The parser gives a header that no state extracts, no setValid() makes valid and no assignment sets. isValid() is false, fields have no values, writing one has no effect, and the header is in no packet. Extract it in the state of the parser that finds it, and come to that state by a transition.";
    E0950 TOO_DEEP: "program nested too deeply",
        "Expressions and types may be nested up to a fixed depth, so that no program can exhaust the compiler's stack.";
    E0951 TOO_LARGE: "type or constant too large",
        "Types, constants and strings may have up to a fixed number of parts, so that a short program cannot fill the compiler's memory.";
}
