//go:build race

package lint

// raceDetector makes an interpreter ten times slower.
const raceDetector = true
