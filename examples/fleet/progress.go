package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress tells how far the runs are: with a bar where a person looks on, with
// a line now and then where the output goes to a file. It is safe for
// concurrent use.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	bar   *progressbar.ProgressBar // nil: lines
	total int
	done  int
	last  time.Time // of the last line
}

// between is the time between two lines.
const between = 5 * time.Second

// newProgress returns a progress of a number of steps.
func newProgress(out io.Writer, total int) *progress {
	p := &progress{out: out, total: total, last: time.Now()}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetWidth(40),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// add says that so many more steps are done, the last of them for a policy.
func (p *progress) add(policy string, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += steps
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%-13s", policy))
		_ = p.bar.Add(steps) // a bar that cannot be drawn is no reason to stop
		return
	}
	if now := time.Now(); now.Sub(p.last) >= between {
		p.last = now
		fmt.Fprintf(p.out, "fleet: %d %% done, now %s\n", 100*p.done/p.total, policy)
	}
}

// close takes the bar away.
func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
