package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gpushare/gpushare/mig/plan"
)

// layoutFile is what export -json writes and restore reads: the machine with the
// place of every instance. UUIDs of MIG devices are not in it, since they are others
// after each creation.
type layoutFile struct {
	Schema int         `json:"schema"`
	GPUs   []gpuLayout `json:"gpus"` // those that can do MIG
}

type gpuLayout struct {
	Index     int             `json:"index"`
	UUID      string          `json:"uuid"`
	Model     string          `json:"model"`
	MIG       bool            `json:"mig"` // the mode is on
	Instances []plan.Instance `json:"instances"`
}

// layoutOf reads GPUs as a layout file. A GPU that cannot do MIG is left out.
func layoutOf(ctx context.Context, gpus []*gpu) (layoutFile, error) {
	file := layoutFile{Schema: schema, GPUs: []gpuLayout{}}
	for _, g := range gpus {
		if g.err != nil {
			return layoutFile{}, g.err
		}
		if g.dev == nil {
			continue
		}
		s, err := g.dev.State(ctx)
		if err != nil {
			return layoutFile{}, fmt.Errorf("GPU %d: %w", g.index, err)
		}
		l := gpuLayout{Index: g.index, UUID: g.uuid, Model: g.model(), MIG: s.Mode.Current, Instances: s.Plan().Instances}
		for i := range l.Instances {
			l.Instances[i].UUIDs = nil
		}
		file.GPUs = append(file.GPUs, l)
	}
	return file, nil
}

// decodeStrictly reads one JSON value without unknown fields, and nothing after
// it.
func decodeStrictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// readLayout reads a layout file. What a GPU can hold is not checked.
func readLayout(data []byte) (layoutFile, error) {
	var answer exportAnswer // mig-parted's form of the same is not looked at
	if err := decodeStrictly(data, &answer); err != nil {
		return layoutFile{}, fmt.Errorf("not what export writes: %w", err)
	}
	file := answer.layoutFile
	if file.Schema != schema {
		return layoutFile{}, fmt.Errorf("schema %d, not %d", file.Schema, schema)
	}
	if len(file.GPUs) == 0 {
		return layoutFile{}, errors.New("gpus: there are none")
	}
	for i, l := range file.GPUs {
		switch {
		case l.Model == "":
			return layoutFile{}, fmt.Errorf("gpus[%d].model is missing", i)
		case !l.MIG && len(l.Instances) > 0:
			return layoutFile{}, fmt.Errorf("gpus[%d].instances: there are %d though mig is false", i, len(l.Instances))
		case slices.ContainsFunc(file.GPUs[:i], func(o gpuLayout) bool { return o.Index == l.Index || l.UUID != "" && o.UUID == l.UUID }):
			return layoutFile{}, fmt.Errorf("gpus[%d]: index %d or UUID %q stands there twice", i, l.Index, l.UUID)
		}
	}
	return file, nil
}
