package pluginconfig_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

// FuzzLint: whatever comes, there is a configuration or an error among the findings,
// in the order of the file; what there is can be started and advertised.
func FuzzLint(f *testing.F) {
	for _, s := range []string{
		"", "version: v1\n", "{}", shared(), shared("rename: x", "devices: [0, '0:1', "+uuidB+"]"),
		`{"sharing":{"mps":{"renameByDefault":true,"resources":[{"name":"gpu","devices":2,"replicas":2}]}}}`,
		"sharing: &a {timeSlicing: *a, <<: *a, ~: 1, ? [b] : 2}\n---\n...\n",
		"flags: {plugin: {deviceListStrategy: [envvar, 1]}, gfd: {sleepInterval: 1.5}}\nimex: {channelIDs: [0]}\n",
		"resources: {gpus: [{pattern: '*', name: a}], mig: [{pattern: 'a*b*', name: b}]}\nsharing: {timeSlicing: }",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, findings := pluginconfig.Lint(data, "f")
		require.NotNil(t, findings)
		isError := func(f pluginconfig.Finding) bool { return f.Severity == pluginconfig.Error }
		require.Equal(t, slices.ContainsFunc(findings, isError), c == nil)
		for i, x := range findings {
			require.NotEmpty(t, x.Message)
			require.Positive(t, x.Line)
			require.Positive(t, x.Column)
			if i > 0 {
				require.LessOrEqual(t, findings[i-1].Line, x.Line)
			}
		}
		parsed, err := pluginconfig.Parse(data, "f")
		require.Equal(t, err == nil, parsed != nil)
		if err == nil {
			require.Equal(t, c, parsed)
		}
		if c == nil {
			require.ErrorIs(t, err, pluginconfig.ErrFormat)
			return
		}
		require.False(t, slices.ContainsFunc(pluginconfig.Check(c), isError), "what the reader lets through has no error in it")
		require.Equal(t, c.Effective(), c.Effective().Effective())
		for _, mode := range []pluginconfig.Mode{pluginconfig.AsPlugin, pluginconfig.AsWritten} {
			n, err := pluginconfig.Advertise(c, a100s(2), mode)
			require.Equal(t, err == nil, n != nil)
		}
	})
}
