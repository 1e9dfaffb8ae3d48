package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// total is what the reference gives for a run.
type total struct {
	Allocated int64 `json:"allocated_gpu_milli"`
	Failed    int   `json:"failed_tasks"`
}

// golden holds the totals by trace, policy and seed, and the digests of the
// decisions of the default trace with seed 42 by policy.
type golden struct {
	Totals struct {
		ByTrace map[string]map[string]map[string]total `json:"by_trace"`
	} `json:"replay_totals"`
	Default struct {
		Policies map[string]struct {
			Digest string `json:"decisions_sha256"`
		} `json:"policies"`
	} `json:"replay_default_seed42"`
}

// job is a trace and a policy with the seeds to run.
type job struct {
	trace, policy string
	seeds         []int64
}

// jobs reads the reference's figures and lists what is to be run.
func jobs(o options) (*golden, []job, error) {
	text, err := os.ReadFile(o.golden)
	if err != nil {
		return nil, nil, err
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.golden, err)
	}
	traces := slices.Sorted(maps.Keys(g.Totals.ByTrace))
	if len(traces) == 0 {
		return nil, nil, fmt.Errorf("%s: holds no totals of runs", o.golden)
	}
	if traces, err = chosen("-traces", o.traces, traces); err != nil {
		return nil, nil, err
	}
	policies, err := chosen("-policies", o.policies, append(openb.Policies(), randomPolicy))
	if err != nil {
		return nil, nil, err
	}
	var all []job
	for _, trace := range traces {
		for _, policy := range policies {
			j := job{trace: trace, policy: policy}
			for _, seed := range slices.Sorted(maps.Keys(g.Totals.ByTrace[trace][policy])) {
				n, err := strconv.ParseInt(seed, 10, 64)
				if err != nil {
					return nil, nil, fmt.Errorf("%s: %s: %s: seed %q is not a number", o.golden, trace, policy, seed)
				}
				if len(o.seeds) == 0 || slices.Contains(o.seeds, n) {
					j.seeds = append(j.seeds, n)
				}
			}
			if len(j.seeds) > 0 {
				all = append(all, j)
			}
		}
	}
	if len(all) == 0 && !o.wantsRandom() {
		return nil, nil, fmt.Errorf("%s: has no figures for what is asked", o.golden)
	}
	for _, seed := range o.seeds {
		if !slices.ContainsFunc(all, func(j job) bool { return slices.Contains(j.seeds, seed) }) {
			return nil, nil, fmt.Errorf("-seeds: %s has no figures for %d", o.golden, seed)
		}
	}
	return &g, all, nil
}

// chosen returns the wanted names in their fixed order, all if none is wanted.
func chosen(flag string, wanted, known []string) ([]string, error) {
	if len(wanted) == 0 {
		return known, nil
	}
	for _, w := range wanted {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("%s: %q: there are %v", flag, w, known)
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !slices.Contains(wanted, k) }), nil
}

func readNodes(dir string) ([]placement.NodeSpec, error) {
	return read(filepath.Join(dir, "openb_node_list_gpu_node.csv"), openb.ReadNodes)
}

func readTasks(dir, trace string) ([]placement.Task, error) {
	return read(filepath.Join(dir, "openb_pod_list_"+trace+".csv"), openb.ReadTasks)
}

// read reads a file or, where it is not there, the one with .gz.
func read[T any](path string, parse func(io.Reader, string) (T, error)) (T, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if zipped, zipErr := os.ReadFile(path + ".gz"); zipErr == nil {
			content, err, path = zipped, nil, path+".gz"
		}
	}
	if err != nil {
		var none T
		return none, err
	}
	return parse(bytes.NewReader(content), path)
}
