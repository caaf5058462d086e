// One message for each of the types, none for what uses them.
type bit<8> Id;
enum Id Kind { None = 0, Full = 1 }
type tuple<bit<8>> Pair;
struct Wrapped<T> { T value; }
extern Box<T> { Box(T value); }
control C(inout bit<8> x, in Wrapped wrapped) {
    action a(in int width) { x = x + width; }
    apply {
        int none = 0;
        Kind kind = (Kind) (bit<8>) 0;
        Pair pair = (Pair) { x };
        x = x + none;
        if (kind == Kind.Full || wrapped.value == x) { a(1); }
    }
}
