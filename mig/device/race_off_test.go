//go:build !race

package device_test

// raceEnabled shortens what is slow under the race detector.
const raceEnabled = false
