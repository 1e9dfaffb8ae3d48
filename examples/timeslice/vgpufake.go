//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/files"
	"github.com/gpushare/gpushare/nvmlfake"
)

// fakeHost is a fake machine with the file that keeps it.
type fakeHost struct {
	server *nvmlfake.Server
	path   string // empty for one that is kept nowhere
	text   []byte // of the file as it was read
}

// openFakeHost makes a vGPU host with the named models, or reads a file.
func openFakeHost(name string) (*fakeHost, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		server, modelErr := newHost(name, false)
		if modelErr != nil {
			return nil, fmt.Errorf("%q is neither a file nor models: %w", name, modelErr)
		}
		return &fakeHost{server: server}, nil
	}
	if err != nil {
		return nil, err
	}
	return readFakeHost(name, text)
}

func readFakeHost(path string, text []byte) (*fakeHost, error) {
	snap, err := nvmlfake.ReadSnapshot(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	server, err := nvmlfake.Restore(snap)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &fakeHost{server, path, text}, nil
}

// newHost returns a vGPU host with GPUs of the models of a list.
func newHost(models string, mig bool) (*nvmlfake.Server, error) {
	var config nvmlfake.Config
	for model := range strings.SplitSeq(models, ",") {
		config.GPUs = append(config.GPUs, nvmlfake.GPU{Model: model, MIG: mig, VGPUHost: true})
	}
	return nvmlfake.New(config)
}

func snapshotText(snap nvmlfake.Snapshot) ([]byte, error) {
	text, err := json.MarshalIndent(snap, "", "  ")
	return append(text, '\n'), err
}

// save keeps the machine as it is now.
func (h *fakeHost) save() error { return h.keep(h.server.Snapshot()) }

// keep writes a state of the machine to its file, unless somebody else has written
// that meanwhile. The file holds either the old text or the new one whenever it is
// read.
func (h *fakeHost) keep(snap nvmlfake.Snapshot) error {
	if h.path == "" {
		return nil
	}
	text, err := snapshotText(snap)
	if err != nil || bytes.Equal(text, h.text) {
		return err
	}
	if old, err := os.ReadFile(h.path); err != nil || !bytes.Equal(old, h.text) {
		return errors.Join(err, fmt.Errorf("%s was written by another process meanwhile: what was done here is not kept", h.path))
	}
	if err := files.Replace(h.path, text); err != nil {
		return err
	}
	h.text = text
	return nil
}

type fakeAnswer struct {
	Schema  int    `json:"schema"`
	Command string `json:"command"`
	File    string `json:"file"`
}

func (inv *invocation) wrote(what, file string) error {
	return inv.Print(fakeAnswer{schema, what, file}, func() string { return fmt.Sprintf("%s: written to %s\n", what, file) })
}

// vgpuInit writes a machine to a new file.
func vgpuInit(_ context.Context, inv *invocation, args []string) error {
	models := inv.Flags.String("model", "", "")
	mig := inv.Flags.Bool("mig", false, "")
	to := inv.Flags.String("to", "", "")
	if err := inv.parse(args, 0, "model", "to"); err != nil {
		return err
	}
	server, err := newHost(*models, *mig)
	if err != nil {
		return fmt.Errorf("-model: %w", err)
	}
	text, err := snapshotText(server.Snapshot())
	if err != nil {
		return err
	}
	if err := files.Create(*to, text); err != nil {
		return fmt.Errorf("-to: %w", err)
	}
	return inv.wrote("init", *to)
}

// onFile opens the file of -fake.
func (f *vgpuFlags) onFile() (*fakeHost, error) {
	text, err := os.ReadFile(f.fake)
	if err != nil {
		return nil, fmt.Errorf("-fake: %w", err)
	}
	h, err := readFakeHost(f.fake, text)
	if err != nil {
		return nil, fmt.Errorf("-fake: %w", err)
	}
	return h, nil
}

// vgpuStart lets a vGPU run.
func vgpuStart(_ context.Context, inv *invocation, args []string) error {
	f := inv.vgpuFlags()
	name := inv.Flags.String("name", "", "")
	if err := inv.parse(args, 0, "fake", "gpu", "name"); err != nil {
		return err
	}
	h, err := f.onFile()
	if err != nil {
		return err
	}
	snap := h.server.Snapshot()
	index := slices.IndexFunc(snap.GPUs, func(g nvmlfake.GPUSnapshot) bool { return strings.EqualFold(g.UUID, f.gpu) })
	for i := range snap.GPUs {
		if f.gpu == fmt.Sprint(i) {
			index = i
		}
	}
	if index < 0 {
		return fmt.Errorf("-gpu: %q is neither an index nor a UUID of the %s", f.gpu, count(len(snap.GPUs), "GPU"))
	}
	for _, list := range vgpuHolders(&snap) {
		if slices.ContainsFunc(*list, isVGPU(*name)) {
			return fmt.Errorf("-name: a vGPU %q runs already", *name)
		}
	}
	if inv.Given("gi") {
		_, err = h.server.RunVGPUIn(index, f.gi, *name)
	} else {
		_, err = h.server.RunVGPU(index, *name)
	}
	if err != nil {
		return fmt.Errorf("-gpu, -gi, -name: %w", err)
	}
	if err := h.save(); err != nil {
		return fmt.Errorf("-fake: %w", err)
	}
	return inv.wrote("start", f.fake)
}

// vgpuStop ends a vGPU.
func vgpuStop(_ context.Context, inv *invocation, args []string) error {
	f := inv.vgpuFlags()
	name := inv.Flags.String("name", "", "")
	if err := inv.parse(args, 0, "fake", "name"); err != nil {
		return err
	}
	h, err := f.onFile()
	if err != nil {
		return err
	}
	snap := h.server.Snapshot()
	found := false
	for _, list := range vgpuHolders(&snap) {
		before := len(*list)
		*list = slices.DeleteFunc(*list, isVGPU(*name))
		found = found || len(*list) < before
	}
	if !found {
		return fmt.Errorf("-name: no vGPU %q runs", *name)
	}
	if err := h.keep(snap); err != nil {
		return fmt.Errorf("-fake: %w", err)
	}
	return inv.wrote("stop", f.fake)
}

func isVGPU(name string) func(nvmlfake.Holder) bool {
	return func(h nvmlfake.Holder) bool { return h.VGPU && h.Name == name }
}

// vgpuHolders lists where a snapshot has vGPUs.
func vgpuHolders(snap *nvmlfake.Snapshot) []*[]nvmlfake.Holder {
	var all []*[]nvmlfake.Holder
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		all = append(all, &g.Holders)
		for j := range g.Instances {
			all = append(all, &g.Instances[j].Holders)
		}
	}
	return all
}
