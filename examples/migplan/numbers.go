package main

import (
	"fmt"
	"strconv"
)

// maxFigure is the largest figure of a need.
const maxFigure = 1_000_000_000

// number reads a whole number from 0 to most.
func number(s string, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%q is no whole number from 0 to %d", s, most)
	}
	return n, nil
}

// count writes a number of things: "1 error", "2 errors".
func count(n int, noun string) string {
	return strconv.Itoa(n) + " " + plural(strconv.Itoa(n), noun)
}

// plural returns the noun as it stands after a number.
func plural(number, noun string) string {
	if number == "1" {
		return noun
	}
	return noun + "s"
}
