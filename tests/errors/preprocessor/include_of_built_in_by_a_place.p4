#include "/home/me/p4/v1model.p4"
