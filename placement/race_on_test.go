//go:build race

package placement_test

// raceEnabled says that the race detector is on: it makes pools forget at
// random, so allocations cannot be counted.
const raceEnabled = true
