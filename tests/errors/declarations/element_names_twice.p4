extern counter { counter(bit<32> size); }
control C();
package P(C c);
control Counts() {
    @element_names("no route", "spoofed", "no route")
    counter(3) drops;
    apply {}
}
P(Counts()) main;
