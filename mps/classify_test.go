package mps_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// The kind comes from the text, whatever the status and the stream.
func TestClassify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"Cannot find MPS control daemon process":                            mps.ErrNoDaemon,
		"  cannot find mps control daemon process":                          mps.ErrNoDaemon,
		"CUDA_MPS_PIPE_DIRECTORY must be set to talk to the daemon":         mps.ErrNoDaemon,
		"An instance of this daemon is already running":                     mps.ErrRefused,
		"Partition %s in use. Terminate all clients before removing.":       mps.ErrInUse,
		"Failed to fulfill the requested SM partition of 9 chunks, error X": mps.ErrRefused,
		"error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION":                   mps.ErrFault,
		"Server is not ready":                                               mps.ErrNotReady,
		"server not ready":                                                  mps.ErrNotReady,
		"CUDA_ERROR_MPS_SERVER_NOT_READY":                                   mps.ErrNotReady,
		"CUDA_ERROR_NOT_PERMITTED":                                          mps.ErrRefused,
		"CUDA_ERROR_NOT_SUPPORTED":                                          mps.ErrUnsupported,
		"Unknown command":                                                   mps.ErrUnsupported,
		"invalid command: lspart":                                           mps.ErrUnsupported,
		"Invalid percentage":                                                mps.ErrRefused,
		"Server 7 not found":                                                mps.ErrRefused,
		"Server already exists":                                             mps.ErrRefused,
		"Static partitioning is not enabled":                                mps.ErrUnsupported,
		"Insufficient chunks on device 0":                                   mps.ErrRefused,
		"not enough chunks":                                                 mps.ErrRefused,
		"request rejected":                                                  mps.ErrRefused,
		"server training has clients":                                       mps.ErrInUse,
		"device 0 has active clients":                                       mps.ErrInUse,
		"set it: CUDA_MPS_PIPE_DIRECTORY must be set":                       mps.ErrNoDaemon,
		"the environment variable CUDA_MPS_PIPE_DIRECTORY must be set to start the daemon": mps.ErrNoDaemon,
		"name or --uid must be set": mps.ErrUnparsed, // a daemon said so
		"permission denied":         mps.ErrRefused,
		"operation failed":          mps.ErrUnparsed,
		"bonjour":                   mps.ErrUnparsed,
		strings.Repeat("x\n", 1<<19) + "Unknown command\n":                    mps.ErrUnsupported,
		"Unknown command\n" + strings.Repeat("x\n", 1<<19):                    mps.ErrUnsupported,
		strings.Repeat("x\n", 1<<19) + "Cannot find MPS control daemon":       mps.ErrNoDaemon,
		"x Cannot find MPS control daemon" + strings.Repeat(" y", 1<<19):      mps.ErrNoDaemon, // no answer, so its words count
		strings.Repeat("x ", 1<<19) + "Cannot find MPS control daemon":        mps.ErrUnparsed, // in a line of a megabyte they do not
		"not known " + strings.Repeat("é", 1<<18) + "\xff" + "\nin use\n":     mps.ErrInUse,
		strings.Repeat("\x00", 1<<20):                                         mps.ErrUnparsed,
		"half of a rune at the border " + strings.Repeat("é\n", 1<<19) + "\n": mps.ErrUnparsed,
	} {
		for _, out := range []mps.Output{
			{Stdout: text}, {Stdout: text, Exit: 1}, {Stderr: text}, {Stderr: text, Exit: 1},
		} {
			_, err := mps.New(leaving(out), mps.Options{}).ServerStatus(t.Context(), 7)
			require.ErrorIs(t, err, want, "%.60q", text)
			assert.Equal(t, text, opError(t, err).Reply)
			assert.Equal(t, out.Exit, opError(t, err).Exit)
			assert.Less(t, len(err.Error()), 1500)
		}
	}
}
