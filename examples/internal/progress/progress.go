// Package progress shows how far a program is.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress tells how far a program is: with a bar where a person looks on, with
// a line now and then where the output goes to a file. It is safe for
// concurrent use.
type Progress struct {
	mu    sync.Mutex
	out   io.Writer
	name  string                   // of the program
	bar   *progressbar.ProgressBar // nil: lines
	total int
	done  int
	last  time.Time // of the last line
}

// between is the time between two lines.
const between = 5 * time.Second

// New returns the progress of the named program over a number of steps.
func New(out io.Writer, name string, total int) *Progress {
	p := &Progress{out: out, name: name, total: total, last: time.Now()}
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

// Add says that so many more steps are done, and what the last was for.
func (p *Progress) Add(what string, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += steps
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%-16s", what))
		_ = p.bar.Add(steps) // a bar that cannot be drawn is no reason to stop
		return
	}
	if now := time.Now(); now.Sub(p.last) >= between {
		p.last = now
		fmt.Fprintf(p.out, "%s: %d %% done, now %s\n", p.name, 100*p.done/max(p.total, 1), what)
	}
}

// Close takes the bar away.
func (p *Progress) Close() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
