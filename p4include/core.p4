/* The P4_16 core library: what every architecture may rely on (P4_16 specification, appendix "Core library"). */

#ifndef _CORE_P4_
#define _CORE_P4_

/* Errors that the language itself can raise. A program adds its own with further `error` declarations. */
error {
    NoError,                // nothing went wrong
    PacketTooShort,         // `extract`, `lookahead` or `advance` went past the end of the packet
    NoMatch,                // no case of a `select` matched
    StackOutOfBounds,       // `next` or `last` of a header stack does not exist
    HeaderTooShort,         // a varbit field would become longer than its type allows
    ParserTimeout,          // the parser ran for longer than the target permits
    ParserInvalidArgument   // a parser operation was given a value it does not support
}

/* The packet as a parser sees it: bits, and a cursor that only moves forward. */
extern packet_in {
    // Reads a header without varbit fields and moves past it.
    void extract<T>(out T hdr);
    // Reads a header that has one varbit field; the second argument is the length of that field in bits.
    void extract<T>(out T variableSizeHeader,
                    in bit<32> variableFieldSizeInBits);
    // Reads a value at the cursor and leaves the cursor where it is.
    T lookahead<T>();
    // Moves the cursor forward by a number of bits.
    void advance(in bit<32> sizeInBits);
    // The length of the packet in bytes.
    bit<32> length();
}

/* The packet as a deparser writes it. */
extern packet_out {
    // Appends a header if it is valid. A stack, union or struct appends its members in order.
    void emit<T>(in T hdr);
}

/* In a parser: sets the parser error and goes to `reject` unless the condition holds. */
extern void verify(in bool check, in error toSignal);

/* The action that leaves everything as it is. */
@noWarn("unused")
action NoAction() {}

/* How a key of a table is compared. Architectures add further kinds. */
match_kind {
    exact,      // equal in every bit
    ternary,    // equal in the bits of a mask
    lpm         // equal in a prefix; the longest one wins
}

/* Stops the compilation with a message unless the condition holds. The value is the condition, so that a global
   constant can be initialised with it. */
extern bool static_assert(bool check, string message);

/* The same with a message that the compiler chooses. */
extern bool static_assert(bool check);

#endif
