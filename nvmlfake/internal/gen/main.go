// Command gen writes the base types of package nvmlfake (for each interface
// that NVML's Go binding can return, a type whose every method records the
// call and answers ERROR_NOT_SUPPORTED) and the wrappers of package fault.
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
	for _, f := range []struct {
		path     string
		generate func() ([]byte, error)
	}{
		{"base_gen.go", generate},
		{"fault/wrap_gen.go", generateWrap},
	} {
		source, err := f.generate()
		if err == nil {
			err = os.WriteFile(f.path, source, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}
