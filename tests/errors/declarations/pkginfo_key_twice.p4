control C();
package P(C c);
control Empty() { apply {} }
@pkginfo(name="router", version="1")
@pkginfo(name="switch")
P(Empty()) main;
