package progress_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/gpushare/gpushare/examples/internal/progress"
)

// TestProgressInFile wants a line now and then, and none from a short run.
func TestProgressInFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := progress.New(&out, "fleet", 200)
		for range 100 {
			p.Add("random", 1)
			time.Sleep(10 * time.Millisecond)
		}
		assert.Empty(t, out.String(), "a second")
		for range 50 {
			p.Add("fgd", 2)
			time.Sleep(time.Second)
		}
		p.Close()
		lines := bytes.Count(out.Bytes(), []byte("\n"))
		assert.InDelta(t, 10, lines, 1, "one in five seconds")
		assert.Contains(t, out.String(), "fleet: 55 % done, now fgd\n")
	})
}
