package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/files"
	"github.com/gpushare/gpushare/nvmlfake"
)

// fakeMachine is a fake machine with the file that keeps it.
type fakeMachine struct {
	server *nvmlfake.Server
	path   string // empty for a preset, which is kept nowhere
	text   []byte // of the file, as it was read or written last
	last   []byte // of the machine, in canonical form
}

// openFake makes the machine of a preset, or reads one from a file.
func openFake(name string) (*fakeMachine, error) {
	if slices.Contains(nvmlfake.Presets(), name) {
		config, err := nvmlfake.Preset(name)
		if err != nil {
			return nil, err
		}
		server, err := nvmlfake.New(config)
		return &fakeMachine{server: server}, err
	}
	path, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q is neither a file nor one of %s: %w", name, strings.Join(nvmlfake.Presets(), ", "), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	snap, err := nvmlfake.ReadSnapshot(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	server, err := nvmlfake.Restore(snap)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &fakeMachine{server: server, path: path, text: text}
	f.last, err = f.snapshot()
	return f, err
}

func (f *fakeMachine) snapshot() ([]byte, error) {
	text, err := json.MarshalIndent(f.server.Snapshot(), "", "  ")
	return append(text, '\n'), err
}

// save writes the machine to its file if it has changed since it was read or
// written. A file that somebody else has written meanwhile stays as it is.
func (f *fakeMachine) save() error {
	if f.path == "" {
		return nil
	}
	now, err := f.snapshot()
	if err != nil || bytes.Equal(now, f.last) {
		return err
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, f.text) {
		return &noError{"changed", fmt.Errorf("%s was written by another process meanwhile: what was done here is not kept (-lock makes them take turns)", f.path)}
	}
	if err := files.Replace(f.path, now); err != nil {
		return err
	}
	f.text, f.last = now, now
	return nil
}
