package mpsfake_test

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

func TestCommandLineOfTheProgram(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		exit int
		says string
	}{
		"-v":                       {0, "version"},
		"-x":                       {1, "-x"},
		"-d -p":                    {1, "-p"},
		"-p 4 server list":         {1, "-p"},
		"--protocol=7":             {1, "--protocol=7"},
		"":                         {1, "Cannot find MPS control daemon process"},
		"-p 3":                     {1, "Cannot find MPS control daemon process"},
		"--protocol=3 server list": {1, "Cannot find MPS control daemon process"},
		"server list -x":           {1, "Cannot find MPS control daemon process"},
		"--daemon --protocol":      {1, "--protocol"},
		"--quit":                   {1, "Cannot find MPS control daemon process"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			env := []string{"CUDA_MPS_PIPE_DIRECTORY=" + t.TempDir()}
			exit := mpsfake.Main(strings.Fields(line), env, strings.NewReader(""), &stdout, &stderr)
			assert.Equal(t, want.exit, exit)
			assert.Contains(t, stdout.String(), want.says)
			assert.Empty(t, stderr.String())
		})
	}
}

func TestProgramSaysWhenItsSetupIsNone(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	exit := mpsfake.Main(nil, []string{"MPSFAKE_SETUP={"}, strings.NewReader(""), &bytes.Buffer{}, &stderr)
	assert.Equal(t, 2, exit)
	assert.Contains(t, stderr.String(), "MPSFAKE_SETUP")
}

func TestInvokedByName(t *testing.T) {
	t.Parallel()
	assert.True(t, mpsfake.Invoked("/usr/bin/nvidia-cuda-mps-control"))
	assert.False(t, mpsfake.Invoked("/tmp/nvidia-cuda-mps-control.d/mpsctl"))
}

func TestLongCallAndLongReply(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcde\n", 50_000)
	var o mpsfake.Options
	o.Setup.Config.Rules = []mpsfake.Rule{{Command: "long", Trouble: mpsfake.Say, Text: text}}
	// The environment holds less than that.
	rule := o.Setup.Config.Rules[0]
	o.Setup.Config.Rules = nil
	p, x := start(t, o)
	require.NoError(t, p.AddRule(rule))
	assert.Equal(t, mps.Output{Stdout: text}, run(t, x, "long "+strings.Repeat("argument ", 30_000)))
}

func TestDaemonMindsNoStrangers(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{})
	for _, packets := range [][]string{{}, {"?"}, {"c{"}, {"c{", "."}, {"cnull", ".", "more"}, {strings.Repeat("c", 40_000)}} {
		conn, err := net.Dial("unixpacket", filepath.Join(p.Pipe, "control"))
		require.NoError(t, err)
		for _, packet := range packets {
			_, err := conn.Write([]byte(packet))
			require.NoError(t, err)
		}
		require.NoError(t, conn.Close())
	}
	assert.Equal(t, mps.Output{Stdout: "100.0\n"}, run(t, x, "get_default_active_thread_percentage"))
	require.NoError(t, p.Check())
}

func TestWrongSetupEndsTheStart(t *testing.T) {
	t.Parallel()
	var o mpsfake.Options
	o.Program, o.Setup.Config.Protocol = link(t), 9
	_, err := mpsfake.Start(t.Context(), o)
	require.ErrorContains(t, err, "protocol 9")
	o.Program = filepath.Join(t.TempDir(), "absent")
	_, err = mpsfake.Start(t.Context(), o)
	require.Error(t, err)
}

func TestErrorsOfHooksKeepTheirKind(t *testing.T) {
	t.Parallel()
	p, _ := start(t, mpsfake.Options{})
	require.ErrorIs(t, p.CrashServer(9999), mpsfake.ErrInput)
	require.ErrorIs(t, p.Disconnect(9999), mpsfake.ErrInput)
	_, known, err := p.Client(9999)
	require.NoError(t, err)
	require.False(t, known)
	require.ErrorIs(t, mpsfake.Attach("@mpsfake-nobody").Replace(t.Context()), mpsfake.ErrInput)
}
