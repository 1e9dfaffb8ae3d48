package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/files"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
)

// bookName is the file in a -journal directory that lists a change of a machine.
// Beside it each GPU has a journal of its own, of package device.
const bookName = "change.json"

// book is a change of a machine, on record.
type book struct {
	Schema int `json:"schema"`
	Serial int `json:"serial"` // one more than that of the change before
	// Ended says how the last command that worked on it has ended: "done",
	// "undone" or "stopped", where every GPU is as before or as wanted. It is empty
	// meanwhile, after a crash, and where a GPU was left half way.
	Ended string    `json:"ended"`
	GPUs  []bookGPU `json:"gpus"` // in the order in which they are changed

	dir string // empty: kept nowhere
}

// bookGPU is a GPU that changes.
type bookGPU struct {
	Index    int       `json:"index"`
	UUID     string    `json:"uuid"`
	ModeFrom bool      `json:"modeFrom"`
	ModeTo   bool      `json:"modeTo"`
	Journal  string    `json:"journal"` // file name; missing until its instances change
	Plan     plan.Plan `json:"plan"`
}

// journalDir returns where changes are recorded; empty for a preset, unless it is
// said.
func (inv *invocation) journalDir(m *machine) (string, error) {
	switch {
	case inv.Given("journal") && inv.change.journal == "":
		return "", errors.New(`-journal: "" is no directory`)
	case inv.change.journal != "":
		return inv.change.journal, nil
	case inv.nvml:
		return "", errors.New("-journal is missing: with -nvml a change is made only on record")
	case m.fake.path == "":
		return "", nil
	default:
		return m.fake.path + ".journal", nil
	}
}

// readBook reads the last change of a directory. The error is that of os.ReadFile
// where there is none.
func readBook(dir string) (*book, error) {
	path := filepath.Join(dir, bookName)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &book{dir: dir}
	if err := decodeStrictly(data, b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if b.Schema != schema {
		return nil, fmt.Errorf("%s: schema %d, not %d", path, b.Schema, schema)
	}
	for i, g := range b.GPUs {
		if g.UUID == "" || g.Journal == "" || g.Journal != filepath.Base(g.Journal) {
			return nil, fmt.Errorf("%s: gpus[%d]: UUID %q or journal %q is not one", path, i, g.UUID, g.Journal)
		}
	}
	return b, nil
}

// ended returns an error unless the last change of a directory has ended, or there
// is none.
func ended(dir string) error {
	if dir == "" {
		return nil
	}
	before, err := readBook(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("-journal: %w", err)
	case before.Ended == "":
		return &noError{"unfinished", fmt.Errorf("the change recorded in %s has not ended: resume or undo it first, or give another -journal", dir)}
	default:
		return nil
	}
}

// newBook puts changes on record in place of the ones before, which have ended.
func newBook(dir string, changes []*change) (*book, error) {
	b := &book{Schema: schema, Serial: 1, dir: dir}
	if dir != "" {
		if before, err := readBook(dir); err == nil {
			b.Serial = before.Serial + 1
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("-journal: %w", err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("-journal: %w", err)
		}
	}
	for _, c := range changes {
		b.GPUs = append(b.GPUs, bookGPU{
			Index: c.gpu.index, UUID: c.gpu.uuid, ModeFrom: c.mode.Current, ModeTo: c.on, Plan: c.plan,
			Journal: fmt.Sprintf("%s.%d.jsonl", c.gpu.uuid, b.Serial),
		})
	}
	if err := b.write(""); err != nil {
		return nil, fmt.Errorf("-journal: %w", err)
	}
	return b, b.sweep()
}

// write records how the change has ended.
func (b *book) write(ended string) error {
	b.Ended = ended
	if b.dir == "" {
		return nil
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(filepath.Join(b.dir, bookName), append(text, '\n'))
}

// sweep removes the journals of the changes before.
func (b *book) sweep() error {
	if b.dir == "" {
		return nil
	}
	list, err := os.ReadDir(b.dir)
	for _, e := range list {
		name := e.Name()
		ours := strings.HasPrefix(name, "GPU-") && strings.HasSuffix(name, ".jsonl")
		if ours && !strings.HasSuffix(name, fmt.Sprintf(".%d.jsonl", b.Serial)) {
			err = errors.Join(err, os.Remove(filepath.Join(b.dir, name)))
		}
	}
	return err
}

// journal opens the journal of a GPU for appending, with what stands in it. It
// returns no file where changes are kept nowhere, and begun false where nothing has
// been recorded yet.
func (b *book) journal(g bookGPU) (file *os.File, j device.Journal, begun bool, err error) {
	if b.dir == "" {
		return nil, device.Journal{}, false, nil
	}
	path := filepath.Join(b.dir, g.Journal)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, device.Journal{}, false, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if begun = bytes.ContainsRune(data, '\n'); !begun {
		flags |= os.O_TRUNC // a first line that was cut off
	} else if j, err = device.ReadJournal(bytes.NewReader(data)); err != nil {
		return nil, device.Journal{}, false, fmt.Errorf("%s: %w", path, err)
	}
	file, err = os.OpenFile(path, flags, 0o644)
	return file, j, begun, err
}
