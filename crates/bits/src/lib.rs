//! Values of any bit width with the arithmetic of P4_16.
