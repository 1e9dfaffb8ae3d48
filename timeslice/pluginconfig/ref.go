package pluginconfig

import (
	"regexp"
	"strconv"
	"strings"
)

func itoa(i int) string { return strconv.Itoa(i) }

const uuid = `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`

var (
	gpuUUID = regexp.MustCompile(`^GPU-` + uuid + `$`)
	migUUID = regexp.MustCompile(`^MIG-(` + uuid + `|GPU-` + uuid + `/[0-9]{1,9}/[0-9]{1,9})$`)
)

// shortRef checks a reference to a device and takes leading zeros away: "0" and
// "00" are one GPU.
func shortRef(s string) (string, bool) {
	if gpuUUID.MatchString(s) || migUUID.MatchString(s) {
		return s, true
	}
	gpu, device, isMIG := strings.Cut(s, ":")
	i, ok := index(gpu)
	if !ok {
		return "", false
	}
	if !isMIG {
		return itoa(i), true
	}
	j, ok := index(device)
	return itoa(i) + ":" + itoa(j), ok
}

// index reads digits, and nothing but digits.
func index(s string) (int, bool) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	v, err := strconv.ParseInt(s, 10, 32)
	return int(v), err == nil
}
