// Package bench measures hallmark side by side with the real helm and kustomize.
//
// It has no code of its own: the benchmarks stand in its test files, and `make
// bench` builds the programs and runs them. Machines differ and are noisy, so
// nothing here fails on a time, and what is reported are ratios: both programs
// run in turn, A B A B, and the median of the pairs' quotients counts.
package bench
