package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/session.txt")

// session is one command of each kind, with both protocols. A sign says what it must
// end with: "0", "1".
var session = []string{
	"0 status -fake",
	"0 servers -fake",
	"0 clients -fake",
	"0 clients -fake -server 7002",
	"1 clients -fake -server 9",
	"0 limits get -fake",
	"0 limits get -fake -server 7002 -device 0,1",
	"1 limits get -fake -server 9",
	"0 limits set -fake -percent 30 -memory 0=20G,1=512M -priority 1",
	"0 limits set -fake -server 7002 -percent 25 -memory 0=1919M",
	"0 limits set -fake -memory GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201=5G",
	"1 limits set -fake -server 9 -percent 25 -memory 0=5G",
	"0 partition list -fake",
	"0 partition add -fake -device GPU-3f -chunks 7",
	"1 partition add -fake -device GPU-3f -chunks 8",
	"1 partition remove -fake -id GPU-3f/eDgl/ypvnmLaIZDoKOTJ0lduWXfjoLNiCwkt",
	"0 partition remove -fake -id GPU-8a/jHZU//17C2I7gD4vTgKtHMhCeO/fzXxMkgjt",
	"0 terminate -fake -client 501",
	"1 terminate -fake -client 501,9",
	"1 terminate -fake -client 501 -server 9",
	"0 status -fake -protocol 3",
	"0 servers -fake -protocol 3",
	"0 clients -fake -protocol 3 -server uid_1000",
	"1 clients -fake -protocol 3 -server nobody",
	"0 limits get -fake -protocol 3",
	"0 limits set -fake -protocol 3 -server uid_1000 -percent 30 -memory 4G -priority 1",
	"0 limits set -fake -protocol 3 -server uid_1000 -namespace default -percent 30",
	"1 limits set -fake -protocol 3 -server nobody -percent 30",
	"0 partition list -fake -protocol 3",
	"0 partition add -fake -protocol 3 -server uid_1000 -name a -device 1 -chunks 4",
	"1 partition add -fake -protocol 3 -server uid_1000 -name a -device 0 -chunks 4",
	"1 partition remove -fake -protocol 3 -server uid_1000 -name a -device 1",
	"0 terminate -fake -protocol 3 -client 501",
	"1 terminate -fake -protocol 3 -client 9",
}

// changing is what differs from run to run.
var changing = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[^" ]*/mpsctl[0-9]+/`), "DIR/"},
	{regexp.MustCompile(`(daemon +)[0-9]+\n`), "${1}PID\n"},
	{regexp.MustCompile(`("protocol": .,\n  "pid": )[0-9]+`), "${1}PID"},
}

// TestSession compares what every command prints, over a process boundary, with what
// is on file.
func TestSession(t *testing.T) {
	t.Parallel()
	needsProcess(t)
	var b strings.Builder
	for _, line := range session {
		want, args := line[:1], strings.Fields(line[2:])
		for _, args := range [][]string{args, append(slices.Clone(args), "-json")} {
			status, out, errs := call(t, args...)
			require.Equal(t, want, fmt.Sprint(status), "%v\n%s%s", args, out, errs)
			require.Empty(t, errs, args)
			for _, c := range changing {
				out = c.what.ReplaceAllString(out, c.with)
			}
			fmt.Fprintf(&b, "$ mpsctl %s\n%s= %d\n\n", strings.Join(args, " "), out, status)
		}
	}
	const path = "testdata/session.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(golden), b.String(), "-update rewrites it")
}

// TestReplies: however the daemon words what nobody has published, every command ends
// with an answer, nothing is said to be verified that is not, and only who was told a
// 0 is safe to kill.
func TestReplies(t *testing.T) {
	t.Parallel()
	needsProcess(t)
	for _, replies := range replySets[1:] {
		t.Run(replies, func(t *testing.T) {
			t.Parallel()
			for _, line := range session {
				args := append(strings.Fields(line[2:]), "-replies", replies, "-json")
				status, out, errs := call(t, args...)
				assert.Contains(t, []int{exitDone, exitNo}, status, "%v\n%s", args, errs)
				assert.Empty(t, errs, args)
				got := decode[map[string]any](t, out)
				assert.EqualValues(t, 1, got["schema"], args)
				if line[0] == '0' && status == exitNo {
					assert.Contains(t, out, `"reason": {`, "%v: a no has a reason", args)
				}
				if args[0] != "terminate" {
					continue
				}
				// With protocol 3 the sentence around the 0 is one that nobody knows.
				killable := strings.Contains(out, `"safeToKill": true`)
				right := line[0] == '0' || strings.Contains(line, "501,")
				if slices.Contains(args, "3") {
					right = right && killable
				}
				assert.Equal(t, right, killable, "%v\n%s", args, out)
			}
		})
	}
}
