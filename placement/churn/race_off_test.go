//go:build !race

package churn_test

const raceEnabled = false
