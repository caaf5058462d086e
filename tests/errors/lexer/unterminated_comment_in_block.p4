#ifndef OTHER
control c() {
    apply {
        /* this goes on and on
    }
}
#endif
