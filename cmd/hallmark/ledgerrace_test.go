//go:build race

package main

// raceDetector makes a process several times larger.
const raceDetector = true
