//! The one function of the C library's mathematics that is called here: indicatif estimates with it what we do not show.
//! With this in its place, no start has to load and relocate that library (libm.so).

/// The C library's `pow`.
#[unsafe(export_name = "pow")]
extern "C" fn power(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

#[cfg(test)]
mod tests {
    #[test]
    fn powers_are_those_of_mathematics() {
        for (base, exponent, power) in [(2.0, 10.0, 1024.0), (0.1, 0.0, 1.0), (9.0, 0.5, 3.0)] {
            assert_eq!(super::power(base, exponent), power);
        }
    }
}
