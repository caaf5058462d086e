extern T make<T>();
control C() {
    apply { make(); }
}
