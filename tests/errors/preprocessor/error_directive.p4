#ifndef WIDTH
#error "WIDTH must be defined, for example with -D WIDTH=8"
#endif
