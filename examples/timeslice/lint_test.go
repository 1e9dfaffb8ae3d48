package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

// reset is a config that the plugin takes and does not follow.
const reset = `version: v1
flags:
  migStrategy: mixed
  renameByDefault: true
sharing:
  timeSlicing:
    failRequestsGreaterThanOne: true
    resources:
    - name: nvidia.com/gpu
      rename: nvidia.com/shared
      devices: [0, 1]
      replicas: 4
    - name: nvidia.com/mig-1g.10gb
      replicas: 2
`

// plain is a config that does what it says.
const plain = `version: v1
sharing:
  timeSlicing:
    failRequestsGreaterThanOne: true
    resources:
    - name: nvidia.com/gpu
      replicas: 4
`

func findings(t *testing.T, text string) (int, []pluginconfig.Finding) {
	t.Helper()
	status, out, errs := callWith(t, text, "lint", "-json", "-f", "-")
	require.Empty(t, errs)
	got := decode[lintAnswer](t, out)
	assert.Equal(t, schema, got.Schema)
	require.NotNil(t, got.Findings)
	return status, got.Findings
}

func TestLint(t *testing.T) {
	t.Parallel()
	status, list := findings(t, reset)
	assert.Equal(t, exitDone, status, "a warning is no error")
	var codes []pluginconfig.Code
	for _, f := range list {
		codes = append(codes, f.Code)
		assert.Positive(t, f.Line)
		assert.Positive(t, f.Column)
	}
	assert.Equal(t, []pluginconfig.Code{pluginconfig.WrongParent, pluginconfig.RenameReset, pluginconfig.DevicesReset}, codes)

	status, list = findings(t, plain)
	assert.Equal(t, exitDone, status)
	assert.Empty(t, list)

	for _, text := range []string{"a: [", "version: v2\n", "sharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 1\n"} {
		status, list = findings(t, text)
		assert.Equal(t, exitNo, status, text)
		assert.True(t, hasError(list), text)
	}
}

func TestLintText(t *testing.T) {
	t.Parallel()
	file := write(t, reset)
	status, out, errs := call(t, "lint", "-f", file)
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	assert.Contains(t, out, file+":4:3: warning: flags.renameByDefault: ")
	assert.Contains(t, out, file+":10:7: warning: sharing.timeSlicing.resources[0].rename: ")
	assert.Contains(t, out, "[devices-reset]\n0 errors, 3 warnings, 0 notes\n")

	file = write(t, plain)
	assert.Equal(t, file+": clean\n", done(t, "lint", "-f", file))

	status, out, _ = callWith(t, "version: v2\n", "lint", "-f", "-")
	assert.Equal(t, exitNo, status)
	assert.Regexp(t, `^stdin:1:\d+: error: version: (?s).*\n1 error, 0 warnings, 0 notes\n$`, out)
	assert.Equal(t, "f: error: why [syntax]\n1 error, 0 warnings, 0 notes\n",
		lintText("f", []pluginconfig.Finding{{Severity: pluginconfig.Error, Code: pluginconfig.Syntax, Message: "why"}}), "no place that there is not")
}

func TestLintBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refuses(t, []string{"lint"}, []string{"-f is missing"})
	refuses(t, []string{"lint", "-f", dir + "/none"}, []string{"-f", "none"})
	refuses(t, []string{"lint", "-f", dir}, []string{"-f", dir})
	refuses(t, []string{"lint", "-f", dir, "more"}, []string{`"more"`})
}
