package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

const advertiseUsage = `timeslice advertise says what a node advertises under a device plugin's sharing config:
resources and labels, as the plugin really does and as the file is written.

Usage:
  timeslice advertise -f FILE -inventory GPU;... [flags]
  timeslice advertise -f FILE -gpus FILE [flags]

GPU is [COUNT*]MODEL[:PROFILE=N,...], such as "4*a100-80gb;a100-80gb:3g.40gb=2": MIG is on
where there is a colon.

  -f FILE             the config; - is standard input
  -gpus FILE          the GPUs in JSON: what -json writes, or its "inventory"
  -request NAME=N     can a container have N of a resource?
  -strict             the two readings must be the same
  -json               one JSON object

Exit status 1 says that the plugin would not start, or that what was asked for cannot
be had; with -strict, that the plugin does not do what the file says.
`

type advertiseAnswer struct {
	Schema    int                    `json:"schema"`
	Inventory *inventorySpec         `json:"inventory"`
	Plugin    nodeAnswer             `json:"plugin"`  // what the plugin does
	Written   nodeAnswer             `json:"written"` // what the file says
	Same      bool                   `json:"same"`
	Request   *requestAnswer         `json:"request,omitempty"`
	Findings  []pluginconfig.Finding `json:"findings"` // as of lint
}

// nodeAnswer is what a node advertises; with an error, nothing.
type nodeAnswer struct {
	Resources []resourceAnswer  `json:"resources"`
	Labels    map[string]string `json:"labels"`
	Remarks   []string          `json:"remarks"`
	Error     string            `json:"error,omitempty"`

	node *pluginconfig.Node
}

type resourceAnswer struct {
	Name     string         `json:"name"`
	Count    int            `json:"count"`
	Strategy string         `json:"strategy"`
	OnlyOne  bool           `json:"onlyOne"` // a request for more is refused
	Devices  []deviceAnswer `json:"devices"`
}

type deviceAnswer struct {
	UUID     string `json:"uuid"`
	Replicas int    `json:"replicas"` // 0: it is not shared
}

type requestAnswer struct {
	Resource string `json:"resource"`
	Count    int    `json:"count"`
	Served   bool   `json:"served"`
	Reason   string `json:"reason,omitempty"`
}

// advertise says what a node advertises.
func advertise(_ context.Context, inv *invocation, args []string) error {
	file := inv.Flags.String("f", "", "")
	list := inv.Flags.String("inventory", "", "")
	gpus := inv.Flags.String("gpus", "", "")
	request := inv.Flags.String("request", "", "")
	strict := inv.Flags.Bool("strict", false, "")
	if err := inv.parse(args, 0, "f"); err != nil {
		return err
	}
	which, err := inv.ExactlyOne("inventory", "gpus")
	if err != nil {
		return err
	}
	var spec inventorySpec
	if which == "gpus" {
		var text []byte
		if text, err = inv.Read(*gpus); err == nil {
			spec, err = readInventory(text)
		}
	} else {
		spec, err = parseInventory(*list)
	}
	if err != nil {
		return fmt.Errorf("-%s: %w", which, err)
	}
	answer := &advertiseAnswer{Schema: schema, Inventory: &spec}
	if answer.Request, err = parseRequest(*request, inv.Given("request")); err != nil {
		return fmt.Errorf("-request: %w", err)
	}
	c, findings, name, err := inv.config(*file)
	if err != nil {
		return err
	}
	answer.Findings = findings
	if err := answer.fill(c, name); err != nil {
		return fmt.Errorf("-%s: %w", which, err)
	}
	yes := answer.Plugin.node != nil && (answer.Same || !*strict) && (answer.Request == nil || answer.Request.Served)
	return inv.Answer(yes, answer, func() string { return answer.text(name) })
}

// parseRequest reads "nvidia.com/gpu=2"; nil where nothing is asked.
func parseRequest(text string, given bool) (*requestAnswer, error) {
	if !given {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	name, number, _ := strings.Cut(text, "=")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || name == "" {
		return nil, fmt.Errorf("%q is not of the form NAME=N", text)
	}
	return &requestAnswer{Resource: name, Count: n}, nil
}

// fill asks the library. The error is one of the inventory.
func (a *advertiseAnswer) fill(c *pluginconfig.Config, name string) error {
	inventory := a.Inventory.inventory()
	for _, m := range []struct {
		mode pluginconfig.Mode
		to   *nodeAnswer
	}{{pluginconfig.AsPlugin, &a.Plugin}, {pluginconfig.AsWritten, &a.Written}} {
		*m.to = nodeAnswer{Resources: []resourceAnswer{}, Labels: map[string]string{}, Remarks: []string{}}
		if c == nil {
			m.to.Error = name + " has an error"
			continue
		}
		node, err := pluginconfig.Advertise(c, inventory, m.mode)
		if errors.Is(err, pluginconfig.ErrInventory) {
			return err
		}
		if err != nil {
			m.to.Error = command.OneLine(err.Error())
			continue
		}
		m.to.take(node)
	}
	a.Same = a.Plugin.Error == a.Written.Error && reflect.DeepEqual(a.Plugin.Resources, a.Written.Resources)
	if a.Request != nil && a.Plugin.node == nil {
		a.Request.Reason = a.Plugin.Error
	} else if a.Request != nil {
		err := a.Plugin.node.Request(a.Request.Resource, a.Request.Count)
		if a.Request.Served = err == nil; err != nil {
			a.Request.Reason = command.OneLine(err.Error())
		}
	}
	return nil
}

func (n *nodeAnswer) take(node *pluginconfig.Node) {
	n.node = node
	for _, r := range node.Resources {
		out := resourceAnswer{r.Name, r.Count, r.Strategy, r.OnlyOne, []deviceAnswer{}}
		for _, d := range r.Devices {
			out.Devices = append(out.Devices, deviceAnswer{d.UUID, d.Replicas})
		}
		n.Resources = append(n.Resources, out)
	}
	maps.Copy(n.Labels, node.Labels)
	n.Remarks = append(n.Remarks, node.Remarks...)
}

// text writes both readings side by side.
func (a *advertiseAnswer) text(name string) string {
	var b strings.Builder
	for _, n := range []struct {
		what string
		*nodeAnswer
	}{{"the plugin would advertise nothing", &a.Plugin}, {"as written it cannot be", &a.Written}} {
		if n.Error != "" {
			fmt.Fprintf(&b, "%s: %s\n", n.what, n.Error)
		}
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(a.Plugin.Resources)+len(a.Written.Resources) > 0 {
		fmt.Fprintln(t, "RESOURCE\tAS THE PLUGIN DOES\tAS WRITTEN")
	}
	for _, key := range keys(a.Plugin.Resources, a.Written.Resources) {
		fmt.Fprintf(t, "%s\t%s\t%s\n", key, a.Plugin.resource(key), a.Written.resource(key))
	}
	if len(a.Plugin.Labels)+len(a.Written.Labels) > 0 {
		fmt.Fprintln(t, "\nLABEL\tAS THE PLUGIN DOES\tAS WRITTEN")
	}
	all := maps.Clone(a.Plugin.Labels)
	maps.Copy(all, a.Written.Labels)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(t, "%s\t%s\t%s\n", key, dash(a.Plugin.Labels[key]), dash(a.Written.Labels[key]))
	}
	t.Flush()
	for _, r := range a.Plugin.Remarks {
		fmt.Fprintf(&b, "\n%s\n", r)
	}
	if a.Request != nil {
		fmt.Fprintf(&b, "\n%d of %s: ", a.Request.Count, a.Request.Resource)
		if a.Request.Served {
			b.WriteString("yes\n")
		} else {
			fmt.Fprintf(&b, "no: %s\n", a.Request.Reason)
		}
	}
	if len(a.Findings) > 0 {
		b.WriteString("\n" + lintText(name, a.Findings))
	}
	return b.String()
}

// keys lists the names of resources, sorted.
func keys(lists ...[]resourceAnswer) []string {
	var names []string
	for _, r := range slices.Concat(lists...) {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// resource writes what there is of one: "40, time-slicing, one each".
func (n *nodeAnswer) resource(name string) string {
	i := slices.IndexFunc(n.Resources, func(r resourceAnswer) bool { return r.Name == name })
	if i < 0 {
		return "-"
	}
	r := n.Resources[i]
	text := strconv.Itoa(r.Count)
	if r.Strategy != "none" {
		text += ", " + r.Strategy
	}
	if r.OnlyOne {
		text += ", one a request"
	}
	return text
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
