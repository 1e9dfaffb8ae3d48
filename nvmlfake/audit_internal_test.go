package nvmlfake

import (
	"os"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sound returns a server whose first GPU holds a 2g.10gb with two compute
// instances and a 3g.20gb.
func sound(t *testing.T) *Server {
	t.Helper()
	s, err := New(Config{GPUs: []GPU{{Model: "a100-40gb", MIG: true}, {Model: "a100-40gb"}}})
	require.NoError(t, err)
	require.Equal(t, nvml.SUCCESS, s.NVML().Init())
	g := s.gpus[0]
	for name, start := range map[string]int{"2g.10gb": 0, "3g.20gb": 4} {
		p, err := g.model.Profile(name)
		require.NoError(t, err)
		_, err = g.create(p, start)
		require.NoError(t, err)
	}
	two := g.instances[1]
	require.Equal(t, "2g.10gb", two.profile.Name)
	for start := range 2 {
		two.create(two.profiles()[0], start)
	}
	require.NoError(t, s.Audit())
	return s
}

func hold(g *gpuState, h Holder) { g.holders = append(g.holders, &h) }

// The audit finds each kind of contradiction; nothing but a bug makes one, so
// the test makes them by hand.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, want string
		spoil      func(s *Server)
	}{
		{"count of initialisations", "-1 initialisations", func(s *Server) { s.refs = -1 }},
		{"two GPUs with one UUID", "twice", func(s *Server) { s.gpus[1].uuid = s.gpus[0].uuid }},
		{"instances without MIG", "MIG is off", func(s *Server) { s.gpus[0].current = false }},
		{"layout without instance", "layout", func(s *Server) { s.gpus[0].instances = s.gpus[0].instances[:1] }},
		{"layout of another place", "layout", func(s *Server) { s.gpus[0].instances[1].start = 2 }},
		{"instances that overlap", "overlap", func(s *Server) { s.gpus[0].instances[0].start = 0 }},
		{"more memory than there is", "given out", func(s *Server) { s.gpus[0].instances[0].profile.MemoryMiB = 40000 }},
		{"order of GPU instances", "listed after", func(s *Server) { s.gpus[0].instances[0].id = 3 }},
		{"a GPU instance that is gone", "gone", func(s *Server) { s.gpus[0].instances[0].gone = true }},
		{"a GPU instance of another GPU", "gone", func(s *Server) { s.gpus[0].instances[0].gpu = s.gpus[1] }},
		{"order of compute instances", "listed after", func(s *Server) { s.gpus[0].instances[1].instances[1].id = 0 }},
		{"a compute instance that is gone", "gone", func(s *Server) { s.gpus[0].instances[1].instances[0].gone = true }},
		{"compute instances that overlap", "slice 0", func(s *Server) { s.gpus[0].instances[1].instances[1].start = 0 }},
		{"a compute instance outside", "slice 2", func(s *Server) { s.gpus[0].instances[1].instances[1].start = 2 }},
		{"two devices with one index", "MIG device 0", func(s *Server) { s.gpus[0].instances[1].instances[1].index = 0 }},
		{"an index beyond the maximum", "MIG device 7", func(s *Server) { s.gpus[0].instances[1].instances[1].index = 7 }},
		{"two devices with one UUID", "twice", func(s *Server) {
			cis := s.gpus[0].instances[1].instances
			cis[1].uuid = cis[0].uuid
		}},
		{"a holder without name", "holder", func(s *Server) { hold(s.gpus[1], Holder{PID: 1}) }},
		{"a visible holder without process", "holder", func(s *Server) { hold(s.gpus[1], Holder{Name: "x"}) }},
		{"a holder of negative memory", "holder", func(s *Server) { hold(s.gpus[1], Holder{PID: 1, Name: "x", MemoryMiB: -1}) }},
		{"a process twice in one place", "twice", func(s *Server) {
			hold(s.gpus[1], Holder{PID: 1, Name: "x"})
			hold(s.gpus[1], Holder{PID: 1, Name: "x"})
		}},
		{"a process of two names", "is x too", func(s *Server) {
			hold(s.gpus[0], Holder{PID: 1, Name: "x", Hidden: true})
			hold(s.gpus[1], Holder{PID: 1, Name: "y"})
		}},
		{"a process on a GPU with MIG", "MIG is on", func(s *Server) { hold(s.gpus[0], Holder{PID: 1, Name: "x"}) }},
		{"a process in no compute instance", "no compute instance", func(s *Server) {
			s.gpus[0].instances[0].holders = holders{{PID: 1, Name: "x"}}
		}},
		{"more memory used than the GPU has", "MiB used", func(s *Server) { hold(s.gpus[1], Holder{PID: 1, Name: "x", MemoryMiB: 40961}) }},
		{"more memory used than the instance has", "MiB used", func(s *Server) {
			s.gpus[0].instances[1].instances[0].holders = holders{{PID: 1, Name: "x", MemoryMiB: 9857}}
		}},
		{"more devices than created", "ever created", func(s *Server) { s.gpus[0].created = 1 }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := sound(t)
			row.spoil(s)
			require.ErrorContains(t, s.Audit(), row.want)
		})
	}
}

// The package comment names what cannot be faked.
func TestDocNamesDriverBound(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, name := range driverBound {
		name = strings.TrimPrefix(strings.TrimPrefix(name, "Device"), "GpuInstance")
		assert.Contains(t, string(doc), name)
	}
}
