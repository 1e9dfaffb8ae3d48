//go:build race

package mig_test

// underRace says that the race detector runs, which makes everything slow.
const underRace = true
