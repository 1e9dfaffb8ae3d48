package mps

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parsePIDs reads a list of pids, with any blanks between. No text is no pid.
func parsePIDs(reply string) ([]int, error) {
	var pids []int
	for line := range strings.Lines(reply) {
		for field := range strings.FieldsSeq(line) {
			pid, err := parsePID(field)
			if err != nil {
				return nil, fmt.Errorf("%w in line %.80q", err, strings.TrimSpace(line))
			}
			if pids == nil {
				pids = make([]int, 0, len(reply)/len(field)+1) // about as many as fit
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// parsePercentage reads a percentage of 0 to 100 such as 25.0.
func parsePercentage(reply string) (float64, error) {
	text := strings.TrimSpace(reply)
	if strings.Trim(text, "0123456789.") != "" {
		return 0, fmt.Errorf("%.40q is no percentage", text) // neither signs, nor exponents, nor NaN
	}
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || p < 0 || p > 100 {
		return 0, fmt.Errorf("%.40q is no percentage", text)
	}
	return p, nil
}

// samePercentage tells whether got, which has one decimal or two, is want: how the
// daemon rounds is not known.
func samePercentage(want, got float64) bool {
	const eps = 1e-6
	return math.Abs(got-math.Round(want*10)/10) < eps || math.Abs(got-math.Floor(want*10+eps)/10) < eps ||
		math.Abs(got-math.Round(want*100)/100) < eps
}

// formatPercentage is a percentage in the fewest digits, integers without a point.
func formatPercentage(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// parseMemory reads a limit such as 20350M or 3G in MiB. No text is no limit, 0. A
// number without a unit could be bytes or MiB, and is refused.
func parseMemory(reply string) (mib int64, err error) {
	text := strings.TrimSpace(reply)
	if text == "" {
		return 0, nil
	}
	mib, err = ParseLimit(text)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no limit with unit M or G", text) // not the caller's ErrInput
	}
	return mib, nil
}

// formatMemory is a limit in MiB as the daemon takes it.
func formatMemory(mib int64) string { return strconv.FormatInt(mib, 10) + "M" }

var errPriority = errors.New("neither 0 nor 1")

// parsePriority reads a client priority.
func parsePriority(reply string) (int, error) {
	switch text := strings.TrimSpace(reply); text {
	case "0":
		return 0, nil
	case "1":
		return 1, nil
	default:
		return 0, fmt.Errorf("%.40q: %w", text, errPriority)
	}
}

// checkPID refuses what cannot be the pid of a process.
func checkPID(what string, pid int) error {
	if pid <= 0 || pid > math.MaxInt32 {
		return fmt.Errorf("%w: %s pid %d", ErrInput, what, pid)
	}
	return nil
}

// checkOptionalPID is checkPID where 0 stands for all.
func checkOptionalPID(what string, pid int) error {
	if pid == 0 {
		return nil
	}
	return checkPID(what, pid)
}

// checkDevice refuses a key that is neither an ordinal nor a UUID, and with it all
// that would end the command line early.
func checkDevice(device string) (byUUID bool, err error) {
	if isOrdinal(device) {
		return false, nil
	}
	if isDeviceUUID(device) {
		return true, nil
	}
	return false, fmt.Errorf("%w: device %.80q is neither an ordinal nor a UUID (GPU-… or MIG-…)", ErrInput, device)
}

// isOrdinal tells whether s is a device number as the daemon writes it.
func isOrdinal(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// isDeviceUUID tells whether s looks like the UUID of a GPU or a MIG device, or the start of
// one.
func isDeviceUUID(s string) bool {
	rest, ok := strings.CutPrefix(s, "GPU-")
	if !ok {
		rest, ok = strings.CutPrefix(s, "MIG-")
	}
	if !ok || rest == "" || len(rest) > 64 {
		return false
	}
	for _, r := range rest {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '/' {
			return false
		}
	}
	return true
}
