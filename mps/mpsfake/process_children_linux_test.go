package mpsfake_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// children lists the children of this process, dead ones that nobody reaped included.
func children() string {
	var list []string
	for pid, stat := range processes() {
		if stat.parent == os.Getpid() {
			list = append(list, fmt.Sprintf("process %d (%s), state %s", pid, stat.name, stat.state))
		}
	}
	return strings.Join(list, "\n")
}

// processStat is what the kernel tells of a process.
type processStat struct {
	name, state string
	parent      int
}

func processes() map[int]processStat {
	all := map[int]processStat{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		fields := strings.Fields(string(text[end+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parent, _ := strconv.Atoi(fields[1])
		all[pid] = processStat{string(text[open+1 : end]), fields[0], parent}
	}
	return all
}

// processesWith lists the living processes that have a text in their environment.
func processesWith(text string) (pids []int) {
	for pid := range processes() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(env, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}
