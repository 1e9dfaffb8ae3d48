package pluginconfig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

// shared is a file that shares nvidia.com/gpu, with more lines of the entry.
func shared(lines ...string) string {
	return "version: v1\nsharing:\n  timeSlicing:\n    failRequestsGreaterThanOne: true\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n" +
		indented("      ", lines)
}

func indented(blanks string, lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(blanks + l + "\n")
	}
	return b.String()
}

// brief is a finding without its message.
func brief(f pluginconfig.Finding) string {
	return fmt.Sprintf("%d:%d %s %s %s", f.Line, f.Column, f.Severity, f.Code, f.Field)
}

// Everything that the plugin does in silence is told, at its place.
func TestLintFindings(t *testing.T) {
	t.Parallel()
	const ts, mps = "sharing.timeSlicing", "sharing.mps"
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"nothing to say", shared(), nil},
		{"nothing at all", "", nil},
		{"JSON", `{"version": "v1", "sharing": {"timeSlicing": {"failRequestsGreaterThanOne": true, "resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}}}`, nil},
		{"YAML 1.1", strings.ReplaceAll(shared("devices: all"), "true", "yes"), nil},
		{"no version", "sharing: {}\n", nil},

		{"a rename is dropped", shared("rename: nvidia.com/mine"), []string{"8:7 warning rename-reset " + ts + ".resources[0].rename"}},
		{
			"so is one beside renameByDefault",
			strings.Replace(shared("rename: nvidia.com/mine"), "    resources", "    renameByDefault: true\n    resources", 1),
			[]string{"9:7 warning rename-reset " + ts + ".resources[0].rename"},
		},
		{
			"but not the one that renameByDefault gives",
			strings.Replace(shared("rename: nvidia.com/gpu.shared"), "    resources", "    renameByDefault: true\n    resources", 1), nil,
		},
		{"which by itself is dropped too", shared("rename: nvidia.com/gpu.shared"), []string{"8:7 warning rename-reset " + ts + ".resources[0].rename"}},
		{"a list of devices is dropped", shared("devices: [0, '1:0', " + uuidA + "]"), []string{"8:7 warning devices-reset " + ts + ".resources[0].devices"}},
		{"a count of devices is dropped", shared("devices: 2"), []string{"8:7 warning devices-reset " + ts + ".resources[0].devices"}},
		{"custom resources are dropped", shared() + "resources:\n  gpus:\n  - pattern: '*'\n    name: nvidia.com/mine\n", []string{"10:5 warning custom-resources resources"}},
		{"empty custom resources are not there", shared() + "resources: {gpus: [], mig: }\n", nil},

		{"a misspelt key", shared("replica: 3"), []string{"8:7 warning unknown-key " + ts + ".resources[0].replica"}},
		{"an unknown key", "profile: x\n" + shared(), []string{"1:1 warning unknown-key profile"}},
		{"renameByDefault under flags", "flags:\n  renameByDefault: true\n" + shared(), []string{"2:3 warning wrong-parent flags.renameByDefault"}},
		{"renameByDefault at the top", "renameByDefault: true\n" + shared(), []string{"1:1 warning wrong-parent renameByDefault"}},
		{"renameByDefault in the entry", shared("renameByDefault: true"), []string{"8:7 warning wrong-parent " + ts + ".resources[0].renameByDefault"}},
		{"timeSlicing at the top", "timeSlicing: {}\n", []string{"1:1 warning wrong-parent timeSlicing"}},
		{"the strategy outside of flags", "migStrategy: mixed\n" + shared(), []string{"1:1 warning wrong-parent migStrategy"}},
		{"the policy outside of plugin", "flags: {sharedDevicesAllocationPolicy: packed}\n", []string{"1:9 warning wrong-parent flags.sharedDevicesAllocationPolicy"}},
		{"case counts in a section", strings.Replace(shared(), "failRequests", "FailRequests", 1), []string{
			"3:3 note not-proportional " + ts + ".failRequestsGreaterThanOne",
			"4:5 warning wrong-case " + ts + ".FailRequestsGreaterThanOne",
		}},
		{"and does not above it", strings.Replace(shared(), "timeSlicing", "timeslicing", 1), []string{"3:3 note wrong-case sharing.timeslicing"}},

		{"requests for several", strings.Replace(shared(), "    failRequestsGreaterThanOne: true\n", "", 1), []string{"3:3 note not-proportional " + ts + ".failRequestsGreaterThanOne"}},
		{"two entries for one resource", shared() + "    - {name: nvidia.com/gpu, replicas: 8}\n", []string{"8:8 warning duplicate-resource " + ts + ".resources[1].name"}},
		{"a profile without mixed", strings.Replace(shared(), "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", 1), []string{"6:7 warning unserved " + ts + ".resources[0].name"}},
		{"a profile with mixed", "flags: {migStrategy: mixed}\n" + strings.Replace(shared(), "nvidia.com/gpu", "nvidia.com/mig-1g.5gb.me", 1), nil},
		{"a name of nobody", "flags: {migStrategy: mixed}\n" + strings.Replace(shared(), "nvidia.com/gpu", "nvidia.com/gpus", 1), []string{"7:7 warning unserved " + ts + ".resources[0].name"}},
		{"the prefix is added", strings.Replace(shared(), "nvidia.com/gpu", "gpu", 1), []string{"6:13 note prefix-added " + ts + ".resources[0].name"}},

		{"MPS wins", "flags: {mpsRoot: /run}\n" + shared() + "  mps:\n    failRequestsGreaterThanOne: true\n    resources: [{name: nvidia.com/gpu, replicas: 2}]\n", []string{"4:3 warning mps-wins " + ts}},
		{"MPS forces one request", "flags: {mpsRoot: /run}\nsharing:\n  mps:\n    resources: [{name: nvidia.com/gpu, replicas: 2}]\n", []string{"3:3 note fail-forced " + mps + ".failRequestsGreaterThanOne"}},
		{"but takes a no", "flags: {mpsRoot: /run}\nsharing:\n  mps:\n    failRequestsGreaterThanOne: no\n    resources: [{name: nvidia.com/gpu, replicas: 2}]\n", []string{"3:3 note not-proportional " + mps + ".failRequestsGreaterThanOne"}},
		{"MPS wants a root", "sharing:\n  mps:\n    failRequestsGreaterThanOne: true\n    resources: [{name: nvidia.com/gpu, replicas: 2}]\n", []string{"2:3 note mps-requires " + mps}},
		{"MPS with mixed", "flags: {migStrategy: mixed, mpsRoot: /run}\nsharing:\n  mps:\n    failRequestsGreaterThanOne: true\n    resources: [{name: nvidia.com/gpu, replicas: 2}]\n", []string{"3:3 error mps-requires " + mps}},
		{"MPS with single", "flags: {migStrategy: single, mpsRoot: /run}\nsharing:\n  mps:\n    failRequestsGreaterThanOne: true\n    resources: [{name: nvidia.com/gpu, replicas: 2}]\n", []string{"3:3 warning mps-requires " + mps}},
		{"many for MPS", "flags: {mpsRoot: /run}\nsharing:\n  mps:\n    failRequestsGreaterThanOne: true\n    resources: [{name: nvidia.com/gpu, replicas: 48}]\n", []string{"5:18 note mps-limit " + mps + ".resources[0].replicas"}},
		{"too many for MPS", "flags: {mpsRoot: /run}\nsharing:\n  mps:\n    failRequestsGreaterThanOne: true\n    resources: [{name: nvidia.com/gpu, replicas: 49}]\n", []string{"5:18 error mps-limit " + mps + ".resources[0].replicas"}},
		{"MPS is nothing", "sharing:\n  mps:\n", nil},

		{"time-slicing is nothing", "sharing:\n  timeSlicing:\n", []string{"2:3 error missing " + ts, "2:3 note not-proportional " + ts + ".failRequestsGreaterThanOne"}},
		{"no resources", "sharing:\n  timeSlicing: {failRequestsGreaterThanOne: true}\n", []string{"2:3 error missing " + ts}},
		{"empty resources", "sharing:\n  timeSlicing: {failRequestsGreaterThanOne: true, resources: []}\n", []string{"2:62 error missing " + ts + ".resources"}},
		{"a key twice", shared("replicas: 5"), []string{"8:7 error duplicate-key " + ts + ".resources[0].replicas"}},
		{"a key twice, but for its case", shared() + "Sharing: {}\n", []string{"8:1 error duplicate-key Sharing"}},
		{"replicas as a text", strings.Replace(shared(), "4", "'4'", 1), []string{"7:17 error syntax " + ts + ".resources[0].replicas"}},
		{"devices are nothing", shared("devices:"), []string{"8:15 error bad-value " + ts + ".resources[0].devices"}},
		{"devices are some", shared("devices: some"), []string{"8:16 error bad-value " + ts + ".resources[0].devices"}},
		{"no devices", shared("devices: 0"), []string{"8:16 error bad-value " + ts + ".resources[0].devices"}},
		{"an empty list", shared("devices: []"), []string{"8:16 error bad-value " + ts + ".resources[0].devices"}},
		{"an empty rename", shared("rename: ''"), []string{"8:15 error bad-name " + ts + ".resources[0].rename"}},
		{"another prefix", strings.Replace(shared(), "nvidia.com/gpu", "example.com/gpu", 1), []string{"6:13 error bad-name " + ts + ".resources[0].name"}},
		{"a plus in a name", strings.Replace(shared(), "nvidia.com/gpu", "nvidia.com/mig-1g.5gb+me", 1), []string{"6:13 error bad-name " + ts + ".resources[0].name"}},
		{"a long name", strings.Replace(shared(), "nvidia.com/gpu", "nvidia.com/"+strings.Repeat("a", 53), 1), []string{"6:13 error bad-name " + ts + ".resources[0].name"}},
		{"an unknown strategy", "flags:\n  migStrategy: both\n", []string{"2:16 error bad-value flags.migStrategy"}},
		{"an unknown policy", "flags: {plugin: {sharedDevicesAllocationPolicy: spread}}\n", []string{"1:49 error bad-value flags.plugin.sharedDevicesAllocationPolicy"}},
		{"a flag that is no boolean", "flags: {failOnInitError: \"true\"}\n", []string{"1:26 error syntax flags.failOnInitError"}},
		{"a time that is none", "flags: {gfd: {sleepInterval: 5 minutes}}\n", []string{"1:30 error bad-value flags.gfd.sleepInterval"}},
		{"channels", "imex: {channelIDs: [0, 1]}\n", []string{"1:24 error bad-value imex.channelIDs"}},
		{"another version", "version: v2\n", []string{"1:10 error bad-value version"}},
		{"a pattern without a name", "resources: {mig: [{pattern: '*'}]}\n", []string{"1:19 error missing resources.mig[0]", "1:19 warning custom-resources resources"}},
		{"values of the wrong kind", `flags: {plugin: [], mpsRoot: 5, deviceDiscoveryStrategy: [nvml], gfd: {oneshot: , sleepInterval: [5]}}
resources: x
imex: {channelIDs: 0}
`, []string{
			"1:17 error syntax flags.plugin", "1:30 error syntax flags.mpsRoot", "1:58 error syntax flags.deviceDiscoveryStrategy",
			"1:98 error syntax flags.gfd.sleepInterval", "2:12 error syntax resources", "3:20 error syntax imex.channelIDs",
		}},
		{"patterns of the wrong kind", "resources: {gpus: {}, mig: [x, {pattern: 1, name: a}, {pattern: , name: on}]}\n", []string{
			"1:19 error syntax resources.gpus", "1:29 error syntax resources.mig[0]",
			"1:32 warning custom-resources resources",
			"1:42 error syntax resources.mig[1].pattern", "1:51 note prefix-added resources.mig[1].name",
			"1:73 error syntax resources.mig[2].name",
		}},
		{"sections of the wrong kind", "sharing: {timeSlicing: [], mps: {renameByDefault: 1, resources: x}}\n", []string{
			"1:11 warning mps-wins sharing.timeSlicing", "1:24 error syntax sharing.timeSlicing",
			"1:28 note mps-requires sharing.mps", "1:28 note fail-forced sharing.mps.failRequestsGreaterThanOne",
			"1:51 error syntax sharing.mps.renameByDefault", "1:65 error syntax sharing.mps.resources",
		}},
		{"an entry without anything", shared() + "    - {}\n", []string{
			"8:7 error missing sharing.timeSlicing.resources[1]", "8:7 error missing sharing.timeSlicing.resources[1]",
		}},
		{"a list of texts with others in it", "flags: {plugin: {deviceListStrategy: [envvar, 1, {}]}}\n", []string{
			"1:47 error syntax flags.plugin.deviceListStrategy", "1:50 error syntax flags.plugin.deviceListStrategy",
		}},
		{"devices that are none", shared("devices: [{}, on, ~, 1.5]"), []string{
			"8:17 error bad-value sharing.timeSlicing.resources[0].devices[0]", "8:21 error bad-value sharing.timeSlicing.resources[0].devices[1]",
			"8:25 error bad-value sharing.timeSlicing.resources[0].devices[2]", "8:28 error bad-value sharing.timeSlicing.resources[0].devices[3]",
		}},
		{"odd keys", "1: a\n1.50: b\nno: c\n? [x]\n: d\n~: e\n\"a b\": f\n", []string{
			"1:1 warning unknown-key 1", `2:1 warning unknown-key "1.5"`, "3:1 warning unknown-key false",
			"4:3 error syntax ", "6:1 error syntax ", `7:1 warning unknown-key "a b"`,
		}},
		{"a merge of nothing", "<<: 5\n", []string{"1:5 error syntax "}},
		{"a map merged in itself", "sharing: &s {<<: *s}\n", []string{"1:18 error syntax "}},
		{"a list in itself, where nobody looks", shared() + "x: &x [{a: 1}, [*x]]\n", []string{"8:17 error syntax "}},
		{"a list twice", shared() + "x: [&x [1], *x, *x]\n", []string{"8:1 warning unknown-key x"}},
		{"a tab", "flags:\n  plugin:\n\t\tx: 1\n", []string{"3:1 error syntax "}},
		{"not a map", "- a\n", []string{"1:1 error syntax "}},
		{"not YAML", "version: v1\n\tsharing: {}\n", []string{"2:1 error syntax "}},
		{"two documents", "version: v1\n---\nversion: v1\n", []string{"3:1 error syntax "}},
		{"not UTF-8", "version: v1\nä: \xff\n", []string{"2:4 error syntax "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, findings := pluginconfig.Lint([]byte(test.text), "f.yaml")
			var got []string
			var bad, odd bool
			for _, f := range findings {
				got = append(got, brief(f))
				bad = bad || f.Severity == pluginconfig.Error
				odd = odd || f.Severity == pluginconfig.Warning
			}
			assert.Equal(t, test.want, got, "%v", findings)
			assert.Equal(t, bad, c == nil)
			parsed, err := pluginconfig.Parse([]byte(test.text), "f.yaml")
			if bad || odd {
				require.ErrorIs(t, err, pluginconfig.ErrFormat)
				assert.Nil(t, parsed)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c, parsed)
		})
	}
}

func TestFindingText(t *testing.T) {
	t.Parallel()
	_, err := pluginconfig.Parse([]byte("flags:\n  renameByDefault: true\n"), "node.yaml")
	require.EqualError(t, err, "pluginconfig: node.yaml:2:3: warning: flags.renameByDefault: the device plugin ignores it here: "+
		"renameByDefault belongs under sharing.timeSlicing or sharing.mps [wrong-parent]")
	_, findings := pluginconfig.Lint([]byte("flags:\n  migStrateg: single\n"), "")
	assert.Equal(t, "2:3: warning: flags.migStrateg: the device plugin ignores this key; migStrategy may be meant [unknown-key]", findings[0].String())
	_, findings = pluginconfig.Lint([]byte("imex: {id: 1}\n"), "")
	assert.Equal(t, "1:8: warning: imex.id: the device plugin ignores this key; it knows channelIDs, required [unknown-key]", findings[0].String())
	for f, want := range map[pluginconfig.Finding]string{
		{Severity: pluginconfig.Note, Code: pluginconfig.Unserved, Message: "m"}:                       "note: m [unserved]",
		{Severity: pluginconfig.Error, Code: pluginconfig.Syntax, Line: 3, Field: "a.b", Message: "m"}: "3: error: a.b: m [syntax]",
	} {
		assert.Equal(t, want, f.String())
	}
}

func TestLintReadsAll(t *testing.T) {
	t.Parallel()
	yes := true
	c, findings := pluginconfig.Lint([]byte(`
version: v1
flags:
  migStrategy: single
  mpsRoot: /run/mps
  failOnInitError: off
  gfd: {oneshot: true, sleepInterval: 60s}
  plugin:
    deviceListStrategy: [envvar, cdi-cri]
    sharedDevicesAllocationPolicy: packed
resources:
  mig:
  - {pattern: "1g.*", name: small}
sharing:
  timeSlicing: &section
    failRequestsGreaterThanOne: true
    resources:
    - &gpu {name: gpu, replicas: 3.0, devices: [01, "1:00"]}
    - {<<: *gpu, rename: mine, devices: 2}
  mps:
    <<: *section
    renameByDefault: true
imex: {channelIDs: [0], required: false}
`), "f")
	require.NotNil(t, c, "%v", findings)
	assert.Equal(t, "f", c.Name)
	assert.Equal(t, &pluginconfig.Section{
		FailRequests: &yes,
		Resources: []pluginconfig.Resource{
			{Name: "nvidia.com/gpu", Replicas: 3, Devices: pluginconfig.Devices{List: []string{"1", "1:0"}}},
			{Name: "nvidia.com/gpu", Rename: "nvidia.com/mine", Replicas: 3, Devices: pluginconfig.Devices{Count: 2}},
		},
	}, plain(c).TimeSlicing)
	assert.Equal(t, plain(c).TimeSlicing.Resources, plain(c).MPS.Resources)
	assert.True(t, c.MPS.RenameByDefault)
	assert.Equal(t, []pluginconfig.Pattern{{MIG: true, Pattern: "1g.*", Name: "nvidia.com/small"}}, plain(c).Patterns)
	assert.Equal(t, pluginconfig.Flags{
		MIGStrategy: pluginconfig.MIGSingle, MPSRoot: "/run/mps", AllocationPolicy: timeslice.Packed,
	}, c.Flags)
}

// What was written is read again, and Check finds in a value what Lint finds in its
// text.
func TestLintRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := genConfig(t)
		text := write(c)
		read, findings := pluginconfig.Lint([]byte(text), "")
		require.NotNil(t, read, "%s\n%v", text, findings)
		require.Equal(t, c, plain(read), text)
		var fromText, fromValues []string
		for _, f := range findings {
			require.Positive(t, f.Line, "%v", f)
			f.Line, f.Column = 0, 0
			fromText = append(fromText, f.String())
		}
		for _, f := range pluginconfig.Check(c) {
			require.Zero(t, f.Line)
			fromValues = append(fromValues, f.String())
		}
		slices.Sort(fromText)
		slices.Sort(fromValues)
		require.Equal(t, fromValues, fromText)
	})
}

func TestCheckByHand(t *testing.T) {
	t.Parallel()
	good := pluginconfig.Resource{Name: "nvidia.com/gpu", Replicas: 2}
	section := func(change func(*pluginconfig.Resource)) *pluginconfig.Config {
		r := good
		change(&r)
		return &pluginconfig.Config{TimeSlicing: &pluginconfig.Section{Resources: []pluginconfig.Resource{r}}}
	}
	for name, test := range map[string]struct {
		c    *pluginconfig.Config
		want pluginconfig.Code
	}{
		"nothing":          {nil, ""},
		"zero":             {&pluginconfig.Config{}, ""},
		"good":             {section(func(*pluginconfig.Resource) {}), ""},
		"strategy":         {&pluginconfig.Config{Flags: pluginconfig.Flags{MIGStrategy: "both"}}, pluginconfig.BadValue},
		"policy":           {&pluginconfig.Config{Flags: pluginconfig.Flags{AllocationPolicy: timeslice.Distinct}}, pluginconfig.BadValue},
		"no resources":     {&pluginconfig.Config{MPS: &pluginconfig.Section{}}, pluginconfig.Missing},
		"pattern":          {&pluginconfig.Config{Patterns: []pluginconfig.Pattern{{Name: "gpu"}}}, pluginconfig.BadName},
		"name":             {section(func(r *pluginconfig.Resource) { r.Name = "gpu" }), pluginconfig.BadName},
		"rename":           {section(func(r *pluginconfig.Resource) { r.Rename = "nvidia.com/GPU" }), pluginconfig.BadName},
		"replicas":         {section(func(r *pluginconfig.Resource) { r.Replicas = 1 }), pluginconfig.BadValue},
		"count":            {section(func(r *pluginconfig.Resource) { r.Devices.Count = -1 }), pluginconfig.BadValue},
		"count and list":   {section(func(r *pluginconfig.Resource) { r.Devices = pluginconfig.Devices{Count: 1, List: []string{"0"}} }), pluginconfig.BadValue},
		"device":           {section(func(r *pluginconfig.Resource) { r.Devices.List = []string{"x"} }), pluginconfig.BadValue},
		"device, long":     {section(func(r *pluginconfig.Resource) { r.Devices.List = []string{"01"} }), pluginconfig.BadValue},
		"device repeated":  {section(func(r *pluginconfig.Resource) { r.Devices.List = []string{"1", "1"} }), pluginconfig.DuplicateDevice},
		"long name":        {section(func(r *pluginconfig.Resource) { r.Name = "nvidia.com/" + strings.Repeat("g", 53) }), pluginconfig.BadName},
		"dash at the end":  {section(func(r *pluginconfig.Resource) { r.Name = "nvidia.com/gpu-" }), pluginconfig.BadName},
		"two dots":         {section(func(r *pluginconfig.Resource) { r.Name = "nvidia.com/gpu..a" }), pluginconfig.BadName},
		"slash":            {section(func(r *pluginconfig.Resource) { r.Name = "nvidia.com/a/b" }), pluginconfig.BadName},
		"nothing but dots": {section(func(r *pluginconfig.Resource) { r.Name = "nvidia.com/" }), pluginconfig.BadName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var codes []pluginconfig.Code
			for _, f := range pluginconfig.Check(test.c) {
				if f.Severity == pluginconfig.Error {
					codes = append(codes, f.Code)
				}
			}
			_, err := pluginconfig.Advertise(test.c, nil, pluginconfig.AsPlugin)
			if test.want == "" {
				assert.Empty(t, codes)
				require.NoError(t, err)
				return
			}
			assert.Equal(t, []pluginconfig.Code{test.want}, codes)
			require.ErrorIs(t, err, pluginconfig.ErrFormat)
		})
	}
}

// A few lines can stand for very much, or say the same a thousand times.
func TestLintBounds(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 {name: gpu, replicas: 2}\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	merges := "b0: &b0 {name: gpu}\n"
	for i := 1; i < 60; i++ {
		merges += fmt.Sprintf("b%d: &b%d {<<: [*b%d, *b%d]}\n", i, i, i-1, i-1)
	}
	for name, test := range map[string]struct{ text, want string }{
		"aliases":  {bomb.String() + "sharing: {timeSlicing: {resources: *a39}}\n", "instead of a map with name"},
		"merges":   {merges + "sharing: {timeSlicing: {resources: [*b59]}}\n", "the aliases of the file stand for more than"},
		"devices":  {"x: &x [" + strings.Repeat("1, ", 1000) + "1]\n" + "sharing: {timeSlicing: {resources: [" + strings.Repeat("{devices: *x}, ", 500) + "]}}\n", "not listed"},
		"findings": {strings.Repeat("- a\n", 3) + "", "instead of a map"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, findings := pluginconfig.Lint([]byte(test.text), "")
			assert.Nil(t, c)
			assert.LessOrEqual(t, len(findings), 201)
			assert.True(t, slices.ContainsFunc(findings, func(f pluginconfig.Finding) bool { return strings.Contains(f.Message, test.want) }), "%v", findings)
		})
	}
}
