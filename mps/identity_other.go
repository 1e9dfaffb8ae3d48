//go:build !linux

package mps

// processStart is not told here.
func processStart(int) (uint64, error) { return 0, nil }
