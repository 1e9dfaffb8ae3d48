//go:build race

package openb_test

// raceDetector says that the race detector, which slows everything down, is on.
const raceDetector = true
