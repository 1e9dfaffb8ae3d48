package mpsfake

// What a CUDA program is told. The numbers are CUDA's.
const (
	Success              = 0
	NoDevice             = 100
	LaunchFailed         = 719 // of the clients that a fault reaches
	NotPermitted         = 800
	ConnectionFailed     = 805
	RPCFailure           = 806 // of clients whose server is gone
	ServerNotReady       = 807
	MaxClientsReached    = 808
	ClientTerminated     = 810
	InvalidConfiguration = 915 // no static partition named, or none of that name
)

// ClientState is how a CUDA program stands with the daemon.
type ClientState uint8

// The states.
const (
	Refused  ClientState = iota // its connection failed, with Code
	Pending                     // it waits for a server
	Active                      // attached
	Inactive                    // was attached; Code is its sticky error
	Direct                      // nothing there to connect to: it runs without MPS, and without limits
)

var clientStateNames = [...]string{"refused", "pending", "active", "inactive", "direct"}

// String is the state in a word.
func (s ClientState) String() string {
	if int(s) >= len(clientStateNames) {
		return "unknown"
	}
	return clientStateNames[s]
}

// Client is a CUDA program that connects.
type Client struct {
	PID, UID int    // PID is the daemon's view of it and unique among the clients that are left
	Command  string // "": ./app

	// Env is its environment. What counts: CUDA_VISIBLE_DEVICES,
	// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT,
	// CUDA_MPS_CLIENT_PRIORITY, CUDA_MPS_SM_PARTITION.
	Env map[string]string

	// Namespace is "<server>" or "<server>/<namespace>" of protocol 3, which a real
	// client says with its pipe directory; "": the server of its user.
	Namespace string
}

// Attachment is how a client stands, and what it was given when it attached.
type Attachment struct {
	State    ClientState
	Code     int // Success, or what CUDA calls answer
	Server   int // PID; 0 if it has none
	ID       int // that the server gave it, from 1
	Priority int
	Shares   []Share // per device it sees
}

// Share is what a client may use of a device.
type Share struct {
	Ordinal  int // as the daemon counts
	UUID     string
	Percent  float64 // in force; 0 under a static partition
	SMs      int     // that it sees
	LimitMiB int64   // pinned device memory; 0: no limit
}
