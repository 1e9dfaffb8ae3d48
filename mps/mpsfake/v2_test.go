package mpsfake_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// daemon starts one of two GPUs; change may alter its configuration.
func daemon(t *testing.T, change func(*mpsfake.Config)) *mpsfake.Daemon {
	t.Helper()
	cfg := mpsfake.Config{GPUs: gpus(2)}
	if change != nil {
		change(&cfg)
	}
	d, err := mpsfake.New(cfg)
	require.NoError(t, err)
	return d
}

// ask sends a command line of protocol 2.
func ask(t *testing.T, d *mpsfake.Daemon, line string) mps.Output {
	t.Helper()
	out, err := d.Run(t.Context(), mps.Call{Input: line})
	require.NoError(t, err)
	require.NoError(t, d.Check())
	return out
}

// told is the standard output of a command that ends with status 0.
func told(t *testing.T, d *mpsfake.Daemon, line string) string {
	t.Helper()
	out := ask(t, d, line)
	require.Zero(t, out.Exit, "%+v", out)
	require.Empty(t, out.Stderr)
	return out.Stdout
}

// TestCommands has every command once, in the order in which a person tries them.
func TestCommands(t *testing.T) {
	t.Parallel()
	d := daemon(t, nil)
	uuid := gpus(1)[0].UUID
	for _, row := range []struct{ line, want string }{
		{"get_server_list", ""},
		{"get_default_active_thread_percentage", "100.0\n"},
		{"set_default_active_thread_percentage 25\n", "25.0\n"},
		{"set_default_active_thread_percentage 0", "Invalid active thread percentage 0\n"},
		{"set_default_active_thread_percentage 100.5", "Invalid active thread percentage 100.5\n"},
		{"set_default_active_thread_percentage many", "Invalid active thread percentage many\n"},
		{"set_default_active_thread_percentage NaN", "Invalid active thread percentage NaN\n"},
		{"get_default_active_thread_percentage", "25.0\n"},
		{"get_default_device_pinned_mem_limit 0", ""},
		{"set_default_device_pinned_mem_limit 0 5120M", ""},
		{"set_default_device_pinned_mem_limit 9 1G", ""},
		{"set_default_device_pinned_mem_limit 0 1024", "Invalid memory limit 1024\n"},
		{"set_default_device_pinned_mem_limit 0 1.5G", "Invalid memory limit 1.5G\n"},
		{"set_default_device_pinned_mem_limit 0 512MB", "Invalid memory limit 512MB\n"},
		{"set_default_device_pinned_mem_limit 0 99999999999G", "Invalid memory limit 99999999999G\n"},
		{"get_default_device_pinned_mem_limit 0", "5120M\n"},
		{"get_default_device_pinned_mem_limit 9", "1G\n"},
		{"get_default_device_pinned_mem_limit " + uuid, ""},
		{"set_default_client_priority 1", ""},
		{"set_default_client_priority 2", "Invalid client priority\n"},
		{"get_default_client_priority", "1\n"},
		{"start_server -uid 1000", ""},
		{"start_server -uid 1000", "Server already exists\n"},
		{"start_server", "Invalid number of arguments: 0\n"},
		{"get_server_list", "1001\n"},
		{"get_server_status 1001", "ACTIVE\n"},
		{"get_server_status 1002", "Server 1002 not found\n"},
		{"get_active_thread_percentage 1001", "25.0\n"},
		{"set_active_thread_percentage 1001 50", "50.0\n"},
		{"set_active_thread_percentage 1001 0", "Invalid active thread percentage 0\n"},
		{"set_active_thread_percentage 5 50", "Server 5 not found\n"},
		{"get_active_thread_percentage 1001", "50.0\n"},
		{"get_default_active_thread_percentage", "25.0\n"},
		{"set_device_pinned_mem_limit 1001 0 8G", ""},
		{"set_device_pinned_mem_limit 1001 0 8", "Invalid memory limit 8\n"},
		{"get_device_pinned_mem_limit 1001 0", "8G\n"},
		{"get_client_list 1001", ""},
		{"get_device_client_list", gpus(2)[0].UUID + "\n" + gpus(2)[1].UUID + "\n"},
		{"ps", "PID  ID  SERVER  DEVICE  NAMESPACE  COMMAND\n"},
		{"terminate_client 1001 5", "1\n"},
		{"sm_partition add " + uuid + " 1", "Static partitioning is not enabled\n"},
		{"lspart", "Static partitioning is not enabled\n"},
		{"device_query --csv", "Ordinal,Server,PCI ID,Device UUID,Name,Total SMs,Total Chunks,Attributes\n" +
			"0,-,0000:17:00.0," + gpus(2)[0].UUID + ",NVIDIA H100 80GB HBM3,132,15,-\n" +
			"1,-,0000:27:00.0," + gpus(2)[1].UUID + ",NVIDIA H100 80GB HBM3,132,15,-\n"},
		{"shutdown_server 1001 -f", ""},
		{"get_server_list", ""},
		{"", ""},
		{"get_server_list now", "Invalid number of arguments: 1\n"},
		{"quit -t soon", "Invalid argument for quit\n"},
		{"quit -t 5", ""},
	} {
		assert.Equal(t, row.want, told(t, d, row.line), row.line)
	}
	assert.Equal(t, mps.Output{Stdout: "Cannot find MPS control daemon process\n", Exit: 1}, ask(t, d, "get_server_list"))
}

// TestNamesThatNobodyDocuments: scripts have them, NVIDIA's texts do not.
func TestNamesThatNobodyDocuments(t *testing.T) {
	t.Parallel()
	d := daemon(t, nil)
	for _, line := range []string{
		"set_default_device_memory_limit_percent 0 50", "set_default_memory_limit 1G", "get-server-list",
		"set_active_thread_percentage_all 50", "GET_SERVER_LIST", "status",
	} {
		name, _, _ := strings.Cut(line, " ")
		assert.Equal(t, "Unknown command: "+name+"\n", told(t, d, line))
	}
}

// TestPlaceholders: what is known stays, what is not takes every form.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		words       mpsfake.Placeholders
		line        string
		out, stderr string
		exit        int
	}{
		{mpsfake.Quiet, "get_server_status 7", "Server 7 not found\n", "", 0},
		{mpsfake.Wordy, "get_server_status 7", "error: the request was not carried out. Server 7 not found.\n", "", 0},
		{mpsfake.Failing, "get_server_status 7", "", "Server 7 not found\n", 1},
		{mpsfake.Silent, "get_server_status 7", "", "", 0},
		{mpsfake.Wordy, "get_server_status 1001", "Server 1001: ACTIVE\n", "", 0},
		{mpsfake.Silent, "get_server_status 1001", "ACTIVE\n", "", 0},
		{mpsfake.Wordy, "set_default_client_priority 1", "Default client priority is now 1\n", "", 0},
		{mpsfake.Wordy, "get_default_device_pinned_mem_limit 0", "Default pinned memory limit of device 0: not set\n", "", 0},
		{mpsfake.Failing, "get_default_device_pinned_mem_limit 0", "", "Default pinned memory limit of device 0 is not set\n", 1},
		{mpsfake.Failing, "terminate_client 1001 5", "", "1\n", 1},
		{mpsfake.Wordy, "get_client_list 1001", "31 32\n", "", 0},
		{mpsfake.Failing, "get_client_list 1001", "31\n32\n", "", 0},
		{mpsfake.Wordy, "get_server_list", "1001\n", "", 0},
		{mpsfake.Silent, "get_default_active_thread_percentage", "100.0\n", "", 0},
	} {
		d := daemon(t, func(c *mpsfake.Config) { c.Placeholders = row.words })
		for _, pid := range []int{31, 32} {
			_, err := d.Connect(mpsfake.Client{PID: pid})
			require.NoError(t, err)
		}
		assert.Equal(t, mps.Output{Stdout: row.out, Stderr: row.stderr, Exit: row.exit}, ask(t, d, row.line),
			"%d %s", row.words, row.line)
	}
}

// TestSeveralLines: the real program reads commands until its input ends, and marks
// no border between the replies.
func TestSeveralLines(t *testing.T) {
	t.Parallel()
	d := daemon(t, nil)
	assert.Equal(t, "50.0\n50.0\n", told(t, d,
		"set_default_active_thread_percentage 50\n\nget_default_active_thread_percentage\n"))
	assert.Empty(t, told(t, d, "quit\nget_default_active_thread_percentage\n"))
}

func TestStaticPartitions(t *testing.T) {
	t.Parallel()
	for _, style := range []mpsfake.Style{mpsfake.Observed, mpsfake.Documented} {
		d := daemon(t, func(c *mpsfake.Config) { c.StaticPartitioning, c.Style = true, style })
		full := strings.TrimSpace(told(t, d, "sm_partition add GPU-89ab0 7"))
		if style == mpsfake.Observed {
			full = strings.TrimSuffix(strings.TrimPrefix(full, "Partition "), " created")
		}
		uuid, id, _ := strings.Cut(full, "/")
		assert.Equal(t, gpus(1)[0].UUID, uuid)
		assert.Len(t, id, 36)
		assert.Contains(t, id, "/")
		assert.Equal(t, "Failed to fulfill the requested SM partition of 9 chunks, "+
			"error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\n", told(t, d, "sm_partition add "+uuid+" 9"))
		for _, line := range []string{"add GPU-89ab 1", "add 0 1", "add " + uuid + " 0", "add " + uuid, "grow " + uuid + " 1"} {
			assert.Contains(t, told(t, d, "sm_partition "+line), "Invalid", line)
		}
		in := func(pid int) mpsfake.Client {
			return mpsfake.Client{PID: pid, Env: map[string]string{
				"CUDA_MPS_SM_PARTITION": "GPU-89ab0/" + id, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "1",
			}}
		}
		at, err := d.Connect(in(50))
		require.NoError(t, err)
		assert.Equal(t, []mpsfake.Share{{UUID: uuid, SMs: 56}}, at.Shares)
		at, err = d.Connect(mpsfake.Client{PID: 51})
		require.NoError(t, err)
		assert.Equal(t, mpsfake.Attachment{State: mpsfake.Refused, Code: mpsfake.InvalidConfiguration}, at)

		rows := strings.Split(told(t, d, "lspart"), "\n")
		require.Len(t, rows, 6)
		if style == mpsfake.Observed {
			assert.Equal(t, []string{"GPU-89ab0", "8", "7", "76", "56"}, strings.Fields(rows[2]))
			assert.Equal(t, []string{"GPU-89ab0", id, "7", "56", "Yes"}, strings.Fields(rows[3]))
			assert.Equal(t, []string{"chunks", "chunks", "SM", "SM"}, strings.Fields(rows[1]))
		} else {
			assert.Equal(t, []string{"GPU-89ab0000", "-", "8", "7", "76", "56", "-"}, strings.Fields(rows[2]))
			assert.Equal(t, []string{"GPU-89ab0000", id, "-", "7", "-", "56", "Yes"}, strings.Fields(rows[3]))
			assert.Equal(t, []string{"chunk", "chunk", "SM", "SM"}, strings.Fields(rows[1]))
		}
		assert.Equal(t, "Partition %s in use. Terminate all clients before removing.\n", told(t, d, "sm_partition rm "+uuid+" "+id))
		assert.Contains(t, told(t, d, "sm_partition rm "+uuid+" nothing"), "not found")
		require.NoError(t, d.Disconnect(50))
		assert.Empty(t, told(t, d, "sm_partition rm "+uuid+" "+id))
		assert.Contains(t, told(t, d, "sm_partition add "+uuid+" 15"), uuid)
	}
}
