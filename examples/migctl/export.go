package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gpushare/gpushare/mig/parted"
)

// exportAnswer is a layout file, with the same in mig-parted's form.
type exportAnswer struct {
	layoutFile
	Config json.RawMessage `json:"config"`
	Lost   []string        `json:"lost"` // what that form cannot say
}

// export writes the machine as a mig-parted file or as a layout.
func export(ctx context.Context, inv *invocation, args []string) error {
	label := inv.Flags.String("label", "current", "")
	if err := inv.parseMachine(args, 0); err != nil {
		return err
	}
	return inv.with(ctx, func(_ *machine, gpus []*gpu) error {
		states, err := partedStates(ctx, gpus)
		if err != nil {
			return err
		}
		config, err := parted.Export(states, *label)
		if err == nil && inv.Given("gpu") {
			err = nameDevices(config, states)
		}
		if err != nil {
			return err
		}
		if !inv.JSON {
			for _, text := range lost(states) {
				fmt.Fprintf(inv.Out, "# %s\n", text)
			}
			return parted.Write(inv.Out, config)
		}
		a := exportAnswer{Lost: lost(states)}
		if a.layoutFile, err = layoutOf(ctx, gpus); err != nil {
			return err
		}
		var text bytes.Buffer
		if err := parted.WriteJSON(&text, config); err != nil {
			return err
		}
		a.Config = text.Bytes()
		return inv.Print(a, nil)
	})
}

// nameDevices names the GPUs by their index where a configuration that was made of
// some of the machine's says "all".
func nameDevices(config *parted.Config, states []parted.State) error {
	var gpus []parted.GPU
	for _, s := range states {
		gpus = append(gpus, s.GPU)
		gpus[len(gpus)-1].Model = nil // what fits is no question of what stands there
	}
	selection, err := config.Select("", gpus, nil)
	if err != nil {
		return err
	}
	for _, t := range selection.Targets {
		if t.Entry != nil && t.Entry.All {
			t.Entry.Devices = append(t.Entry.Devices, t.GPU.Index)
		}
	}
	entries := config.Labels[0].Entries
	for i := range entries {
		entries[i].All = false
	}
	return nil
}

// lost lists what stands there and cannot be said in a mig-parted file.
func lost(states []parted.State) []string {
	list := []string{}
	for _, s := range states {
		if n := s.Remnants.Total(); n > 0 {
			list = append(list, fmt.Sprintf("GPU %d: left out, without compute instance: %s", s.Index, s.Remnants))
		}
	}
	return list
}
