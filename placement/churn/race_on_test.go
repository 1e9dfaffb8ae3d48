//go:build race

package churn_test

// raceEnabled says that everything takes ten times as long.
const raceEnabled = true
