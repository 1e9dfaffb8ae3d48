//go:build !race

package plan_test

// raceEnabled: the race detector makes everything several times slower.
const raceEnabled = false
