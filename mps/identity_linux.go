package mps

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processStart is the time at which a process started, in clock ticks since boot:
// field 22 of its stat file. A process that ended and was not reaped is gone.
func processStart(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return 0, fmt.Errorf("process %d: %w", pid, ErrStale)
	}
	if err != nil {
		return 0, nil //nolint:nilerr // not to be read: the pid alone has to do
	}
	state, start, ok := parseStat(string(text))
	if !ok {
		return 0, nil
	}
	if state == 'Z' || state == 'X' || state == 'x' {
		return 0, fmt.Errorf("process %d ended: %w", pid, ErrStale)
	}
	return start, nil
}

// parseStat finds state and start in a stat file. The name of the program stands in
// parentheses and may contain any of the bytes around it.
func parseStat(text string) (state byte, start uint64, ok bool) {
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(text[end+1:]) // from field 3 on
	if len(fields) < 20 || len(fields[0]) != 1 {
		return 0, 0, false
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	return fields[0][0], start, err == nil
}
