package mpsfake

import (
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

// request is a parsed command of protocol 3.
type request struct {
	args []string
	keys map[string]string
}

// take is the value of a key.
func (r *request) take(key string) (string, bool) {
	v, ok := r.keys[key]
	return v, ok
}

// flag is a key that may stand alone.
func (r *request) flag(key string) bool {
	v, ok := r.take(key)
	return ok && v != "false"
}

// arg is the i-th positional argument, or "".
func (r *request) arg(i int) string {
	if i < len(r.args) {
		return r.args[i]
	}
	return ""
}

// only tells the first key that is not among the given ones, or "".
func (r *request) only(keys ...string) string {
	var strange []string
	for key := range r.keys {
		if !slices.Contains(keys, key) {
			strange = append(strange, key)
		}
	}
	slices.Sort(strange)
	if len(strange) > 0 {
		return strange[0]
	}
	return ""
}

// v3 carries out module, verb and arguments. How failures read is unknown for all
// of protocol 3.
func (d *Daemon) v3(args []string) mps.Output {
	module, verb := args[0], ""
	if len(args) > 1 {
		verb = args[1]
	}
	if verb == "help" || len(args) > 2 && args[2] == "help" {
		return d.value("usage", "nvidia-cuda-mps-control <module> <verb> [arguments]")
	}
	r := &request{keys: map[string]string{}}
	for _, a := range args[min(2, len(args)):] {
		key, value, assigned := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case !assigned && !strings.HasPrefix(a, "--"):
			r.args = append(r.args, a)
			continue
		case !assigned:
			value = "true"
		}
		if _, twice := r.keys[key]; twice {
			return d.refuse("Invalid argument %.100s: given twice", a)
		}
		r.keys[key] = value
	}
	if len(r.args) > 3 {
		return d.refuse("Invalid number of arguments: %d", len(r.args))
	}
	f := d.v3Verb(module, verb)
	if f == nil {
		return d.refuse("Unknown command: %.100s %.100s", module, verb)
	}
	return f(r)
}

func (d *Daemon) v3Verb(module, verb string) func(*request) mps.Output {
	switch module + " " + verb {
	case "server create":
		return d.serverCreate
	case "server delete":
		return d.serverDelete
	case "server list":
		return d.serverTable
	case "server set":
		return d.serverSet
	case "server get":
		return d.serverGet
	case "namespace create":
		return d.namespaceCreate
	case "namespace delete":
		return d.namespaceDelete
	case "namespace list":
		return d.namespaceTable
	case "namespace set":
		return d.namespaceSet
	case "namespace get":
		return d.namespaceGet
	case "client list":
		return d.clientTable
	case "client get":
		return d.clientGet
	case "client terminate":
		return d.clientTerminate
	case "device list":
		return d.deviceTable
	case "sm-partition create":
		return d.partitionCreate
	case "sm-partition delete":
		return d.partitionDelete
	case "sm-partition list":
		return d.partitionTable
	case "feature enable", "feature disable":
		return func(r *request) mps.Output { return d.featureSet(r, verb == "disable") }
	case "feature describe":
		return d.featureTable
	case "memacct set":
		return d.memacctSet
	case "memacct describe":
		return func(*request) mps.Output {
			return d.value("memacct", "audit_log="+boolText(d.auditLog))
		}
	default:
		return nil
	}
}

// validName tells whether s may name a server, a namespace or a partition.
func validName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 64
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// boolean reads true or false.
func boolean(s string) (value, ok bool) { return s == "true", s == "true" || s == "false" }
