// Command gen writes the base types of package nvmlfake: for each interface
// that NVML's Go binding can return, a type whose every method records the
// call and answers ERROR_NOT_SUPPORTED.
//
// It is run by go generate in the package's directory. It reads the interfaces
// by reflection, so it sees what the compiler sees; its test compares the
// result with the committed file, so an upgrade of the binding that adds a
// method is noticed.
package main

import (
	"fmt"
	"os"
)

func main() {
	source, err := generate()
	if err == nil {
		err = os.WriteFile("base_gen.go", source, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
