package nvmlfake

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// gpuInstanceID returns the id of a GPU instance. Ids come in ranges by the
// share of memory: the whole GPU 0, halves 1 and 2, quarters 3 to 6, eighths 7
// to 14. Inside a range the id follows the start here; on hardware a second
// mapping is seen beside this one, on GPUs of one host, so no client may infer
// a placement from an id.
func gpuInstanceID(units, size, start int) int { return units/size - 1 + start/size }

// gpuUUID returns the UUID of a physical GPU.
func gpuUUID(seed uint64, gpu int) string {
	return "GPU-" + uuid(digest("gpu", seed, uint64(gpu), 0))
}

// migUUID returns the UUID of the n-th MIG device created on a GPU: of version
// 5, as every one seen. Equal instances created one after the other differ.
func migUUID(seed uint64, gpu int, n uint64) string {
	d := digest("mig", seed, uint64(gpu), n)
	d[6] = d[6]&0x0f | 0x50
	d[8] = d[8]&0x3f | 0x80
	return "MIG-" + uuid(d)
}

func digest(kind string, numbers ...uint64) [16]byte {
	text := []byte(kind)
	for _, n := range numbers {
		text = binary.BigEndian.AppendUint64(text, n)
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}

func uuid(b [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// oldMIGUUID reads the form of drivers before R470,
// "MIG-GPU-<uuid>/<GPU instance>/<compute instance>".
func oldMIGUUID(s string) (gpu string, gi, ci int, ok bool) {
	s, found := strings.CutPrefix(s, "MIG-")
	parts := strings.Split(s, "/")
	if !found || len(parts) != 3 {
		return "", 0, 0, false
	}
	hex, found := strings.CutPrefix(parts[0], "GPU-")
	gi, errGI := strconv.Atoi(parts[1])
	ci, errCI := strconv.Atoi(parts[2])
	return parts[0], gi, ci, found && isUUID(hex) && errGI == nil && errCI == nil && gi >= 0 && ci >= 0
}

// busID is a PCI address: domain, bus, device, function.
type busID [4]uint64

func (g *gpuState) busID() busID { return busID{uint64(g.index / 255), uint64(g.index%255 + 1), 0, 0} }

// String returns the long form of NVML.
func (b busID) String() string { return fmt.Sprintf("%08X:%02X:%02X.%X", b[0], b[1], b[2], b[3]) }

// parseBusID reads the forms that nvml.h lists, in hexadecimal:
// domain:bus:device.function, domain:bus:device and bus:device.function.
func parseBusID(s string) (busID, bool) {
	address, function, hasFunction := strings.Cut(s, ".")
	parts := strings.Split(address, ":")
	switch {
	case len(parts) == 2 && hasFunction:
		parts = append([]string{"0"}, parts...)
	case len(parts) != 3:
		return busID{}, false
	}
	if !hasFunction {
		function = "0"
	}
	var id busID
	for i, part := range append(parts, function) {
		n, err := strconv.ParseUint(part, 16, 32)
		if err != nil {
			return busID{}, false
		}
		id[i] = n
	}
	return id, true
}
