package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gpushare/gpushare/mig/parted"
)

type exportAnswer struct {
	Schema int             `json:"schema"`
	Config json.RawMessage `json:"config"` // mig-parted's form
	Lost   []string        `json:"lost"`   // what that form cannot say
}

// export writes the machine as a mig-parted file or as a layout.
func export(ctx context.Context, inv *invocation, args []string) error {
	label := inv.flags.String("label", "current", "")
	form := inv.flags.String("o", "yaml", "")
	layout := inv.flags.Bool("layout", false, "")
	if err := inv.parseMachine(args, 0); err != nil {
		return err
	}
	if *layout {
		if inv.given("o") && *form != "layout" {
			return fmt.Errorf("-layout and -o %s exclude each other", *form)
		}
		*form = "layout"
	}
	switch *form {
	case "yaml", "json", "layout":
	default:
		return fmt.Errorf("-o: %q is none of yaml, json, layout", *form)
	}
	return inv.with(ctx, func(_ *machine, gpus []*gpu) error {
		if *form == "layout" {
			file, err := layoutOf(ctx, gpus)
			if err != nil {
				return err
			}
			inv.json = true
			return inv.print(file, nil)
		}
		states, err := partedStates(ctx, gpus)
		if err != nil {
			return err
		}
		config, err := parted.Export(states, *label)
		if err != nil {
			return err
		}
		if inv.json {
			return inv.exportJSON(config, states)
		}
		if *form == "json" {
			return parted.WriteJSON(inv.out, config)
		}
		for _, text := range lost(states) {
			fmt.Fprintf(inv.out, "# %s\n", text)
		}
		return parted.Write(inv.out, config)
	})
}

func (inv *invocation) exportJSON(config *parted.Config, states []parted.State) error {
	var text bytes.Buffer
	if err := parted.WriteJSON(&text, config); err != nil {
		return err
	}
	return inv.print(exportAnswer{Schema: schema, Config: text.Bytes(), Lost: lost(states)}, nil)
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
