package mps

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Variables that a client of MPS reads.
const (
	percentVariable        = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
	perContextVariable     = "CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING"
	pinnedLimitVariable    = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
	priorityVariable       = "CUDA_MPS_CLIENT_PRIORITY"
	partitionVariable      = "CUDA_MPS_SM_PARTITION"
	visibleVariable        = "CUDA_VISIBLE_DEVICES"
	maxConnectionsVariable = "CUDA_DEVICE_MAX_CONNECTIONS"
	protocolVariable       = "CUDA_MPS_PROTOCOL_VERSION"
)

// ClientEnv is what a client's environment says to MPS. The zero value says nothing.
// All of it is read when the process starts.
type ClientEnv struct {
	PipeDirectory string        // of the daemon, as the client sees it
	Percent       float64       // active thread percentage, a further cap; 0: none
	PinnedLimits  []DeviceLimit // a further cap; what CUDA itself allocates counts
	Priority      *int          // 0 normal, 1 below normal; a hint
	PerContext    bool          // the percentage is read again at each context
	SMPartition   PartitionID   // zero: none

	// VisibleDevices are ordinals among the devices that the daemon shows, UUIDs or
	// beginnings of UUIDs. nil: not set; empty: no device.
	VisibleDevices []string

	MaxConnections int // CUDA_DEVICE_MAX_CONNECTIONS; 0: not set, which is 2 for a client of MPS

	// Other are names of further CUDA_MPS_ variables that ParseClientEnv found and
	// does not know, sorted. Env does not write them.
	Other []string
}

// Env is the environment as KEY=VALUE, in a fixed order. The error wraps ErrInput and
// names the variable.
func (e ClientEnv) Env() ([]string, error) {
	var env []string
	add := func(name, value string) { env = append(env, name+"="+value) }
	if e.PipeDirectory != "" {
		if err := (Directories{Pipe: e.PipeDirectory}).Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", pipeVariable, err)
		}
		add(pipeVariable, e.PipeDirectory)
	}
	if e.Percent != 0 {
		hundredths, err := percentHundredths(e.Percent)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", percentVariable, err)
		}
		add(percentVariable, formatPercentage(float64(hundredths)/100))
	}
	if e.PerContext {
		add(perContextVariable, "1")
	}
	if len(e.PinnedLimits) > 0 {
		value, err := FormatDeviceLimits(e.PinnedLimits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pinnedLimitVariable, err)
		}
		add(pinnedLimitVariable, value)
	}
	if e.Priority != nil {
		if *e.Priority != 0 && *e.Priority != 1 {
			return nil, fmt.Errorf("%w: %s: priority %d: want 0 or 1", ErrInput, priorityVariable, *e.Priority)
		}
		add(priorityVariable, strconv.Itoa(*e.Priority))
	}
	if e.SMPartition != (PartitionID{}) {
		if err := e.SMPartition.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", partitionVariable, err)
		}
		add(partitionVariable, e.SMPartition.String())
	}
	if e.VisibleDevices != nil {
		if err := checkVisible(e.VisibleDevices); err != nil {
			return nil, fmt.Errorf("%s: %w", visibleVariable, err)
		}
		add(visibleVariable, strings.Join(e.VisibleDevices, ","))
	}
	if e.MaxConnections != 0 {
		if e.MaxConnections < 1 || e.MaxConnections > 1<<16 {
			return nil, fmt.Errorf("%w: %s: %d", ErrInput, maxConnectionsVariable, e.MaxConnections)
		}
		add(maxConnectionsVariable, strconv.Itoa(e.MaxConnections))
	}
	return env, nil
}

// ParseClientEnv reads what KEY=VALUE entries say to a client of MPS; other variables
// are skipped. Everything that Env would not write is an error, one for each variable,
// joined; they wrap ErrInput. A variable that is there twice is one as well, since
// which of them counts depends on the program.
func ParseClientEnv(environ []string) (ClientEnv, error) {
	var e ClientEnv
	var errs []error
	seen := map[string]bool{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		set, known := clientVariables[name]
		switch {
		case known && seen[name]:
			errs = append(errs, fmt.Errorf("%w: %s is set twice", ErrInput, name))
		case known:
			if err := set(&e, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		case strings.HasPrefix(name, "CUDA_MPS_") && name != logVariable && name != protocolVariable:
			e.Other = append(e.Other, name)
		}
		seen[name] = true
	}
	if err := errors.Join(errs...); err != nil {
		return ClientEnv{}, err
	}
	slices.Sort(e.Other)
	e.Other = slices.Compact(e.Other)
	return e, nil
}

// clientVariables read one variable each.
var clientVariables = map[string]func(e *ClientEnv, value string) error{
	pipeVariable: func(e *ClientEnv, value string) error {
		e.PipeDirectory = value
		return Directories{Pipe: value}.Check()
	},
	percentVariable: func(e *ClientEnv, value string) (err error) {
		e.Percent, err = parsePlainPercent(value)
		return err
	},
	perContextVariable: func(e *ClientEnv, value string) error {
		e.PerContext = true
		if value != "1" {
			return fmt.Errorf("%w: %.40q: want 1; whether anything else turns it off is not published: leave it out", ErrInput, value)
		}
		return nil
	},
	pinnedLimitVariable: func(e *ClientEnv, value string) (err error) {
		e.PinnedLimits, err = ParseDeviceLimits(value)
		return err
	},
	priorityVariable: func(e *ClientEnv, value string) error {
		if value != "0" && value != "1" {
			return fmt.Errorf("%w: priority %.40q: want 0 or 1", ErrInput, value)
		}
		priority := int(value[0] - '0')
		e.Priority = &priority
		return nil
	},
	partitionVariable: func(e *ClientEnv, value string) (err error) {
		e.SMPartition, err = ParsePartitionID(value)
		return err
	},
	visibleVariable: func(e *ClientEnv, value string) error {
		e.VisibleDevices = []string{}
		if value != "" {
			e.VisibleDevices = strings.Split(value, ",")
		}
		return checkVisible(e.VisibleDevices)
	},
	maxConnectionsVariable: func(e *ClientEnv, value string) error {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n == 0 || value[0] == '0' || value[0] == '+' {
			return fmt.Errorf("%w: %.40q: want a positive number", ErrInput, value)
		}
		e.MaxConnections = int(n)
		return nil
	},
}

// parsePlainPercent reads digits with at most one point.
func parsePlainPercent(text string) (float64, error) {
	if strings.Trim(text, "0123456789.") != "" || len(text) > 8 {
		return 0, fmt.Errorf("%w: percentage %.40q", ErrInput, text)
	}
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: percentage %.40q", ErrInput, text)
	}
	_, err = percentHundredths(percent)
	return percent, err
}

// checkVisible refuses a list that CUDA would cut short.
func checkVisible(list []string) error {
	for i, d := range list {
		if _, err := checkDevice(d); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		for _, other := range list[:i] {
			if sameKey(d, other) {
				return fmt.Errorf("%w: entry %d: %s is there twice, or may be", ErrInput, i+1, d)
			}
		}
	}
	return nil
}
