// Command nvidia-cuda-mps-control is a fake of the program of NVIDIA MPS of that name,
// for tests and demonstrations without a GPU. See package mpsfake.
package main

import (
	"os"

	"github.com/gpushare/gpushare/mps/mpsfake"
)

func main() {
	//nolint:forbidigo // a program hands over its environment and ends with a status
	os.Exit(mpsfake.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
