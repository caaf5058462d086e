extern Balancer {
    abstract bit<8> Balancer(in bit<8> address);
}
