package mps_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// FuzzReplies gives every method any reply at all. None panics; an error is an
// OpError; a status other than 0 is never a success; and what was understood, written
// as the daemon writes it, is understood as the same.
func FuzzReplies(f *testing.F) {
	for _, reply := range []string{
		"", "\n", "0\n", "1\n", "11803\n7447\n", "ACTIVE\n", "100.0\n", "20350M\n", "3G", dashes, blanks,
		"PID ID SERVER DEVICE NAMESPACE COMMAND\n1 0 2 GPU-c 3 ./a b\n",
		device + "/" + idB, "Partition " + device + "/" + idB + " created\n",
		"Ordinal,Server,PCI ID,Device UUID,Name,Total SMs,Total Chunks,Attributes\n0,1,a,GPU-1,\"H, 100\",132,15,-\n",
		"GPU-12ab: 17 18\n", "Cannot find MPS control daemon process\n", "Unknown command\n", "Server is not ready",
		"Partition %s in use. Terminate all clients before removing.\n",
	} {
		f.Add(reply, "", 0)
		f.Add(reply, "error: aside", 0)
		f.Add("", reply, 1)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr string, exit int) {
		c := mps.New(leaving(mps.Output{Stdout: stdout, Stderr: stderr, Exit: exit}), mps.Options{})
		for _, op := range operations {
			got, err := op.do(t.Context(), c)
			if err != nil {
				var e *mps.OpError
				require.ErrorAs(t, err, &e, op.name)
				assert.NotEmpty(t, e.Error())
				continue
			}
			if exit != 0 {
				// Nobody there to quit.
				require.Equal(t, "Quit", op.name, "status %d", exit)
				continue
			}
			got = withoutReply(got)
			text, ok := format(got)
			if !ok {
				continue
			}
			again, err := op.do(t.Context(), mps.New(saying(text), mps.Options{}))
			require.NoError(t, err, "%s: %q", op.name, text)
			require.Equal(t, got, withoutReply(again), "%s: %q", op.name, text)
		}
	})
}

// withoutReply is what was understood of an answer that keeps its reply.
func withoutReply(answer any) any {
	switch a := answer.(type) {
	case mps.DeviceClientList:
		return a.Devices
	case mps.DeviceQuery:
		return a.Devices
	}
	return answer
}

// format writes an answer as the daemon would.
func format(answer any) (text string, ok bool) {
	var b strings.Builder
	switch a := answer.(type) {
	case []int:
		for _, pid := range a {
			fmt.Fprintln(&b, pid)
		}
	case mps.ServerState:
		b.WriteString(a.String())
	case float64:
		b.WriteString(strconv.FormatFloat(a, 'f', -1, 64))
	case int64:
		if a > 0 {
			fmt.Fprintf(&b, "%dM", a)
		}
	case int:
		fmt.Fprintln(&b, a)
	case []mps.Process:
		b.WriteString("PID\tID SERVER DEVICE NAMESPACE COMMAND\n")
		for _, p := range a {
			fmt.Fprintln(&b, p.PID, p.ID, p.Server, p.Device, p.Namespace, p.Command)
		}
	case []mps.DeviceClients:
		for _, d := range a {
			fmt.Fprintln(&b, d.Device, strings.Trim(fmt.Sprint(d.PIDs), "[]"))
		}
	case []mps.V3Device:
		w := csv.NewWriter(&b)
		_ = w.Write(strings.Split("Ordinal,Server,PCI ID,Device UUID,Name,Total SMs,Total Chunks,Attributes", ","))
		for _, d := range a {
			_ = w.Write([]string{
				strconv.Itoa(d.Ordinal), d.Server, d.PCI, d.UUID, d.Name, strconv.Itoa(d.SMs), strconv.Itoa(d.Chunks), d.Attributes,
			})
		}
		w.Flush()
	case []mps.PartitionedDevice:
		b.WriteString(formatPartitions(a, true))
	default:
		return "", false
	}
	return b.String(), true
}

// formatPartitions writes the table of lspart in one of its styles.
func formatPartitions(devices []mps.PartitionedDevice, withDashes bool) string {
	var b strings.Builder
	dash := func() string {
		if withDashes {
			return "-"
		}
		return " "
	}()
	b.WriteString("GPU Partition free used free used clients\n chunks chunks SM SM\n")
	for _, d := range devices {
		fmt.Fprintln(&b, d.Device, dash, d.FreeChunks, d.UsedChunks, d.FreeSMs, d.UsedSMs, dash)
		for _, p := range d.Partitions {
			clients := p.Clients
			if clients == "" {
				clients = dash
			}
			fmt.Fprintln(&b, p.Device, p.ID, dash, p.Chunks, dash, p.SMs, clients)
		}
	}
	return b.String()
}

func FuzzParsePartitionID(f *testing.F) {
	f.Add(device + "/" + idB)
	f.Add("GPU-1/a/b")
	f.Add("MIG-1/ ")
	f.Add("/")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := mps.ParsePartitionID(s)
		if err != nil {
			require.ErrorIs(t, err, mps.ErrInput)
			require.Zero(t, p)
			return
		}
		require.Equal(t, s, p.String())
		require.NotContains(t, p.Device, "/")
		// What is taken makes one command of three words.
		peer := saying("", "")
		_, _ = mps.New(peer, mps.Options{}).RemovePartition(context.Background(), p)
		require.Len(t, strings.Fields(peer.sent()[0]), 4)
		require.NotContains(t, peer.sent()[0], "\n")
	})
}

func FuzzPIDFile(f *testing.F) {
	f.Add("123")
	f.Add(" 1\n")
	f.Add("+1")
	f.Add("")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "nvidia-cuda-mps-control.pid"), []byte(text), 0o600))
		id, err := mps.PIDFile(dir)()
		if err == nil || errors.Is(err, mps.ErrStale) {
			require.Positive(t, id.PID)
			require.Equal(t, strings.TrimLeft(strings.TrimSpace(text), "0"), strconv.Itoa(id.PID))
		}
	})
}
