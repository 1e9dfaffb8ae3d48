package mpsfake_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// FuzzRun: no sequence of commands breaks a daemon that has clients.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{
		"get_server_list", "start_server -uid 1", "set_device_pinned_mem_limit 1001 0 8G", "terminate_client 1001 50",
		"sm_partition add GPU-89ab0 3\nlspart\nsm_partition rm GPU-89ab0 x", "shutdown_server 1001\nquit -t 3",
		"device_query 1001 --csv\nps -p 1001\nget_device_client_list 1001", "server create a --uid=0\nserver list",
		"server create a\nnamespace create b a\nclient list --format=csv", "-d\n-q\n-d -S\nlspart",
		"server create a\nsm-partition create p --server=a --device=0 --chunks=2\nsm-partition list --all",
		"server set a --uid=3 --client-priority=1\nserver delete a --force\nserver help",
	} {
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(0xff))
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		cfg := mpsfake.Config{
			GPUs: gpus(2), Protocol: 2 + int(kind&1), Placeholders: mpsfake.Placeholders(kind >> 1 & 3),
			Style: mpsfake.Style(kind >> 3 & 1), InitPolls: int(kind >> 4 & 1), ExitPolls: int(kind >> 5 & 1),
		}
		cfg.StaticPartitioning = cfg.Protocol == 2 && kind&0x40 != 0
		d, err := mpsfake.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, uid := range []int{0, 0, 1} {
			if _, err := d.Connect(mpsfake.Client{PID: 50 + i, UID: uid}); err != nil {
				t.Fatal(err)
			}
		}
		for line := range strings.Lines(text) {
			call := mps.Call{Input: line}
			if cfg.Protocol == 3 || strings.HasPrefix(line, "-") {
				call = mps.Call{Args: strings.Fields(line)}
			}
			if _, err := d.Run(context.Background(), call); err != nil {
				t.Fatal(err)
			}
			if err := d.Check(); err != nil {
				t.Fatalf("after %q: %v", line, err)
			}
		}
	})
}
